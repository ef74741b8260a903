#include "complain.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_PARTS = 7 };

static void add(struct iovec *parts, int *count, const char *text)
{
	parts[*count] = (struct iovec){ (void *)text, strlen(text) };
	*count += 1;
}

void complain(const char *what, const char *subject, int error)
{
	struct iovec parts[MOST_PARTS];
	int count = 0;
	int before = errno;

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
	/* There is nowhere else to report that the report failed. */
	if (writev(STDERR_FILENO, parts, count) < 0)
		errno = before;
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
