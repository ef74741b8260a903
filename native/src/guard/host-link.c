#include "host-link.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guard.h"
#include "own-process.h"
#include "requests.h"

enum { LENGTH_BYTES = 4, MAX_ANSWER_BYTES = 512 };

void open_host_link(struct host_link *link, int connection)
{
	*link = (struct host_link){.connection = connection};
}

bool accepts_requests(const struct host_link *link)
{
	return link->unsent_bytes < MAX_WAITING_BYTES;
}

/* Receives at most this many bytes into a buffer; adds to `have`. */
static enum received receive(struct host_link *link, void *buffer, size_t wanted, size_t *have)
{
	while (*have < wanted) {
		ssize_t length =
			recv(link->connection, (char *)buffer + *have, wanted - *have, MSG_DONTWAIT);
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return RECEIVED_NOTHING;
		if (length <= 0)
			return RECEIVED_HOST_GONE;
		*have += (size_t)length;
	}
	return RECEIVED_FRAME;
}

enum received receive_frame(struct host_link *link, char **body, size_t *length)
{
	enum received got = receive(link, link->header, LENGTH_BYTES, &link->header_bytes);
	if (got != RECEIVED_FRAME)
		return got;
	if (link->body == NULL) {
		uint32_t announced = 0;
		for (int i = 0; i < LENGTH_BYTES; i++)
			announced = announced << 8 | link->header[i];
		if (announced == 0 || announced > MAX_REQUEST_BYTES)
			return RECEIVED_NO_FRAME;
		link->body = malloc(announced);
		if (link->body == NULL)
			return RECEIVED_NO_FRAME;
		link->body_length = announced;
		link->body_bytes = 0;
	}
	got = receive(link, link->body, link->body_length, &link->body_bytes);
	if (got != RECEIVED_FRAME)
		return got;
	*body = link->body;
	*length = link->body_length;
	link->body = NULL;
	link->header_bytes = 0;
	return RECEIVED_FRAME;
}

/* Makes room for more answers; without memory for them, the guard can no longer report anything. */
static void make_room(struct host_link *link, size_t more)
{
	if (link->unsent_room - link->unsent_bytes >= more)
		return;
	size_t room = 2 * link->unsent_room + more;
	char *larger = realloc(link->unsent, room);
	if (larger == NULL)
		_Exit(STATUS_FAILED);
	link->unsent = larger;
	link->unsent_room = room;
}

void send_answer(struct host_link *link, const char *format, ...)
{
	char text[MAX_ANSWER_BYTES];
	va_list values;
	va_start(values, format);
	int length = vsnprintf(text, sizeof text, format, values);
	va_end(values);
	if (length < 0 || (size_t)length >= sizeof text)
		_Exit(STATUS_FAILED);
	make_room(link, LENGTH_BYTES + (size_t)length);
	char *end = link->unsent + link->unsent_bytes;
	for (int i = 0; i < LENGTH_BYTES; i++)
		end[i] = (char)((unsigned int)length >> (24 - 8 * i) & 0xff);
	memcpy(end + LENGTH_BYTES, text, (size_t)length);
	link->unsent_bytes += LENGTH_BYTES + (size_t)length;
	flush_answers(link);
}

void flush_answers(struct host_link *link)
{
	size_t sent = 0;
	while (sent < link->unsent_bytes) {
		ssize_t length = send(link->connection, link->unsent + sent, link->unsent_bytes - sent,
			MSG_DONTWAIT | MSG_NOSIGNAL);
		if (length >= 0)
			sent += (size_t)length;
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			break;
		else if (errno != EINTR)
			sent = link->unsent_bytes;
	}
	link->unsent_bytes -= sent;
	if (link->unsent_bytes > 0)
		memmove(link->unsent, link->unsent + sent, link->unsent_bytes);
}

enum { GONE = POLLHUP | POLLERR | POLLNVAL | POLLRDHUP };
/* How often the parent is checked on an old kernel. */
enum { PARENT_PAUSE_MS = 500 };
/* The places of the alarms. */
enum { OF_LIFELINE, OF_HOST, OF_PIPES };

/* Static, since a process has one host. The reference is -1 if the kernel has no pidfd. */
static pid_t host;
static pid_t child_of_host;
static int reference = -1;

bool watch_host(pid_t pid)
{
	host = pid;
	child_of_host = getpid();
	continue_at_end(LIFELINE);
	/* Linux 5.3. 0 is a parent outside of this pid namespace, which nothing can refer to. */
	if (pid > 0)
		reference = (int)syscall(SYS_pidfd_open, pid, 0);
	/* It is still the parent, so it was not reaped, and the reference is not to a later owner of its pid. */
	return getppid() == pid;
}

int poll_alarms(const struct guard_pair *above, struct pollfd waiting[MAX_ALARMS])
{
	waiting[OF_LIFELINE] = (struct pollfd){.fd = LIFELINE, .events = POLLRDHUP};
	waiting[OF_HOST] = (struct pollfd){.fd = reference, .events = POLLIN};
	for (int i = 0; i < above->count; i++)
		waiting[OF_PIPES + i] = (struct pollfd){.fd = above->pipes[i]};
	return OF_PIPES + above->count;
}

static bool has_lost_its_parent(void)
{
	return reference < 0 && getpid() == child_of_host && getppid() != host;
}

int alarm_interval_ms(void)
{
	return reference < 0 && getpid() == child_of_host ? PARENT_PAUSE_MS : -1;
}

enum alarm read_alarms(const struct guard_pair *above, const struct pollfd waiting[MAX_ALARMS])
{
	if ((waiting[OF_LIFELINE].revents & GONE) != 0 || waiting[OF_HOST].revents != 0 || has_lost_its_parent())
		return ALARM_HOST_GONE;
	for (int i = 0; i < above->count; i++)
		if ((waiting[OF_PIPES + i].revents & GONE) != 0)
			return ALARM_GUARD_GONE;
	return ALARM_NONE;
}

bool host_is_gone(void)
{
	static const struct guard_pair none;
	struct pollfd waiting[MAX_ALARMS];
	wait_for(waiting, poll_alarms(&none, waiting), 0);
	return read_alarms(&none, waiting) == ALARM_HOST_GONE;
}
