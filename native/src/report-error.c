#include "report-error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_PARTS = 7 };
/* How long a line waits for its reader. */
enum { WRITE_LIMIT_MS = 100 };

static void add(struct iovec *parts, int *count, const char *text)
{
	parts[*count] = (struct iovec){ (void *)text, strlen(text) };
	*count += 1;
}

static int parts_of(struct iovec parts[MOST_PARTS], const char *what, const char *subject, int error)
{
	int count = 0;

	add(parts, &count, "snakepit-native: ");
	add(parts, &count, what);
	if (subject != NULL) {
		add(parts, &count, ": ");
		add(parts, &count, subject);
	}
	if (error != 0) {
		add(parts, &count, ": ");
		add(parts, &count, strerror(error));
	}
	add(parts, &count, "\n");
	return count;
}

void report_error(const char *what, const char *subject, int error)
{
	struct iovec parts[MOST_PARTS];
	int before = errno;
	int count = parts_of(parts, what, subject, error);

	/* There is nowhere else to report that the report failed. */
	if (writev(STDERR_FILENO, parts, count) < 0)
		errno = before;
	errno = before;
}

/* Writes without waiting. The descriptor may not be made non-blocking: what it refers to is also others'. */
static void write_at_once(struct iovec parts[], int count)
{
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = (size_t)count };
	struct stat seen;
	ssize_t written = -1;
	int own;

	if (fstat(STDERR_FILENO, &seen) != 0)
		return;
	if (S_ISSOCK(seen.st_mode)) {
		sendmsg(STDERR_FILENO, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
		return;
	}
	if (S_ISFIFO(seen.st_mode) || S_ISCHR(seen.st_mode)) {
		own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (own >= 0) {
			written = writev(own, parts, count);
			close(own);
			return;
		}
	}
	/* A plain file; or it has room, as far as is known. */
	written = writev(STDERR_FILENO, parts, count);
	(void)written;
}

void report_error_in_time(const char *what, const char *subject, int error)
{
	struct iovec parts[MOST_PARTS];
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	int before = errno;
	int count = parts_of(parts, what, subject, error);

	if (poll(&room, 1, WRITE_LIMIT_MS) > 0 && (room.revents & POLLOUT) != 0)
		write_at_once(parts, count);
	errno = before;
}

void advise(const char *what, const char *subject, const char *remedy)
{
	struct iovec parts[MOST_PARTS];
	int count = 0;
	int before = errno;

	add(parts, &count, "snakepit: ");
	add(parts, &count, what);
	if (subject != NULL) {
		add(parts, &count, ": ");
		add(parts, &count, subject);
	}
	add(parts, &count, ". ");
	add(parts, &count, remedy);
	add(parts, &count, "\n");
	if (writev(STDERR_FILENO, parts, count) < 0)
		errno = before;
	errno = before;
}
