#include "fork.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arming.h"

static const char HELD = 'h';
static const char GO = 'g';
/* After it follow the bytes of an `int`. */
static const char FAILED = 'e';
/* The exit status of a child that was never released; it is not reported. */
enum { NOT_WANTED = 125 };
/* If the kernel cannot close a range, a loop does it, up to this limit. */
enum { MOST_DESCRIPTORS = 65536 };

static void close_range_of(unsigned int first, unsigned int last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	struct rlimit limit = {.rlim_cur = MOST_DESCRIPTORS};
	getrlimit(RLIMIT_NOFILE, &limit);
	if (last >= limit.rlim_cur)
		last = (unsigned int)limit.rlim_cur;
	for (; first <= last && first < MOST_DESCRIPTORS; first++)
		close((int)first);
}

static void put_descriptors(const int connections[DESCRIPTORS], int link)
{
	for (int number = 0; number < DESCRIPTORS; number++)
		if (connections[number] >= 0)
			dup2(connections[number], number);
		else if (number > 0)
			close(number);
	close_range_of(DESCRIPTORS, (unsigned int)link - 1);
	close_range_of((unsigned int)link + 1, ~0U);
}

static int be_held(const struct program *program, const int connections[DESCRIPTORS], pid_t parent,
	int link)
{
	if (!die_with_parent(parent) || setsid() < 0)
		return errno;
	put_descriptors(connections, link);
	restore_signals();
	int error = prepare_program(program);
	if (error != 0)
		return error;
	char answer = 0;
	if (send(link, &HELD, 1, MSG_NOSIGNAL) != 1)
		_exit(NOT_WANTED);
	while (recv(link, &answer, 1, 0) < 0 && errno == EINTR)
		continue;
	if (answer != GO)
		_exit(NOT_WANTED);
	return run_program(program);
}

_Noreturn static void be_child(const struct program *program, const int connections[DESCRIPTORS],
	pid_t parent, int link)
{
	int error = be_held(program, connections, parent, link);
	char report[1 + sizeof error] = {FAILED};
	for (size_t i = 0; i < sizeof error; i++)
		report[1 + i] = ((const char *)&error)[i];
	send(link, report, sizeof report, MSG_NOSIGNAL);
	_exit(NOT_WANTED);
}

int fork_held(const struct program *program, const int connections[DESCRIPTORS],
	struct held_child *child)
{
	int links[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links) != 0)
		return errno;
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0)
		be_child(program, connections, parent, links[1]);
	int error = errno;
	close(links[1]);
	if (pid < 0) {
		close(links[0]);
		return error;
	}
	*child = (struct held_child){.pid = pid, .link = links[0]};
	return 0;
}

enum report read_report(const struct held_child *child, int *error)
{
	char first;
	ssize_t length;
	while ((length = recv(child->link, &first, 1, MSG_DONTWAIT)) < 0 && errno == EINTR)
		continue;
	if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return REPORT_NOTHING;
	if (length == 1 && first == HELD)
		return REPORT_HELD;
	/* A report of an error arrives whole: it is one message of a few bytes. */
	if (length == 1 && first == FAILED &&
		recv(child->link, error, sizeof *error, MSG_DONTWAIT) == sizeof *error)
		return REPORT_FAILED;
	return REPORT_CLOSED;
}

void release_child(const struct held_child *child)
{
	/* If it was killed while it was held, its end is reported. */
	send(child->link, &GO, 1, MSG_NOSIGNAL);
}
