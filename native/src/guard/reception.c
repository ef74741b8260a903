#include "reception.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* A nonblocking connect fails if the backlog is full. The system may limit it further
 * (net.core.somaxconn: 128 on old kernels), which the host has to respect. */
enum { BACKLOG = 1024 };
/* The start, big-endian, and the descriptor. Only these bytes are read: the following ones belong to the worker. */
enum { HEADER_BYTES = 5 };

static int any_descriptor(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool open_reception(struct reception *reception, const char *path, pid_t host)
{
	*reception = (struct reception){.path = path, .host = host, .refused = -1};
	for (int i = 0; i < MAX_UNANNOUNCED; i++)
		reception->unannounced[i] = -1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return false;
	}
	strcpy(address.sun_path, path);
	reception->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	reception->reserve = any_descriptor();
	return reception->listener >= 0 && reception->reserve >= 0 &&
		bind(reception->listener, (struct sockaddr *)&address, sizeof address) == 0 &&
		listen(reception->listener, BACKLOG) == 0;
}

static void take_back_reserve(struct reception *reception)
{
	reception->refused = -1;
	if (reception->reserve < 0)
		reception->reserve = any_descriptor();
}

bool accepts(struct reception *reception)
{
	if (reception->refused < 0)
		take_back_reserve(reception);
	return reception->reserve >= 0;
}

static bool is_host(const struct reception *reception, int connection)
{
	struct ucred peer = {0};
	socklen_t length = sizeof peer;
	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
		peer.pid == reception->host && peer.uid == geteuid();
}

static int accept_one(struct reception *reception)
{
	/* It stays blocking, because a worker expects that. */
	int connection = accept4(reception->listener, NULL, NULL, SOCK_CLOEXEC);
	if (connection >= 0)
		return connection;
	bool is_full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
	if (!is_full || reception->reserve < 0)
		return -1;
	close(reception->reserve);
	reception->reserve = -1;
	connection = accept4(reception->listener, NULL, NULL, SOCK_CLOEXEC);
	if (connection < 0)
		take_back_reserve(reception);
	else
		reception->refused = connection;
	return connection;
}

void accept_connection(struct reception *reception)
{
	int connection = accept_one(reception);
	if (connection < 0)
		return;
	if (is_host(reception, connection))
		for (int i = 0; i < MAX_UNANNOUNCED; i++)
			if (reception->unannounced[i] < 0) {
				reception->unannounced[i] = connection;
				return;
			}
	close(connection);
	take_back_reserve(reception);
}

static bool is_announced(const struct reception *reception, uint32_t start, int number)
{
	for (int i = 0; i < reception->announced_count; i++)
		if (reception->announced[i].start == start && reception->announced[i].number == number)
			return true;
	return false;
}

bool read_header(struct reception *reception, int place, struct arrival *arrival)
{
	int connection = reception->unannounced[place];
	unsigned char header[HEADER_BYTES];
	ssize_t length = recv(connection, header, sizeof header, MSG_DONTWAIT);
	if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return false;
	reception->unannounced[place] = -1;
	bool is_refused = connection == reception->refused;
	bool has_header = length == HEADER_BYTES;
	if (has_header) {
		*arrival = (struct arrival){0};
		for (int i = 0; i < 4; i++)
			arrival->start = arrival->start << 8 | header[i];
		int number = header[4];
		bool is_known = number < DESCRIPTORS && !is_announced(reception, arrival->start, number);
		bool is_full = reception->announced_count == MAX_ANNOUNCED;
		if (is_known && !is_refused && !is_full) {
			reception->announced[reception->announced_count++] = (struct announced){
				.start = arrival->start, .number = number, .connection = connection};
			return true;
		}
		arrival->error = EMFILE;
		has_header = is_refused || (is_known && is_full);
	}
	close(connection);
	if (is_refused)
		take_back_reserve(reception);
	return has_header;
}

static void forget_announced(struct reception *reception, int place)
{
	reception->announced[place] = reception->announced[--reception->announced_count];
}

bool take_connections(struct reception *reception, uint32_t start, uint8_t descriptors,
	int connections[DESCRIPTORS])
{
	for (int number = 0; number < DESCRIPTORS; number++) {
		connections[number] = -1;
		if ((descriptors >> number & 1) != 0 && !is_announced(reception, start, number))
			return false;
	}
	for (int i = reception->announced_count - 1; i >= 0; i--) {
		struct announced each = reception->announced[i];
		if (each.start != start)
			continue;
		forget_announced(reception, i);
		if ((descriptors >> each.number & 1) != 0)
			connections[each.number] = each.connection;
		else
			close(each.connection);
	}
	return true;
}

void drop_connections(struct reception *reception, uint32_t start)
{
	for (int i = reception->announced_count - 1; i >= 0; i--)
		if (reception->announced[i].start == start) {
			close(reception->announced[i].connection);
			forget_announced(reception, i);
		}
}

void close_reception(struct reception *reception)
{
	close(reception->listener);
	for (int i = 0; i < MAX_UNANNOUNCED; i++)
		if (reception->unannounced[i] >= 0)
			close(reception->unannounced[i]);
	for (int i = 0; i < reception->announced_count; i++)
		close(reception->announced[i].connection);
	reception->announced_count = 0;
	if (reception->reserve >= 0)
		close(reception->reserve);
	unlink(reception->path);
}
