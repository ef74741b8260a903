#include "lifeline.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Moves a descriptor to a number that scripts do not choose for themselves. */
static int moved(int descriptor, int lowest)
{
	int higher = fcntl(descriptor, F_DUPFD, lowest);

	/* EINVAL: above the limit. EMFILE: none is free there. */
	if (higher < 0)
		return descriptor;
	close(descriptor);
	return higher;
}

int lifeline_connect(const char *path, int lowest)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(path);
	int connection;

	if (length >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, length);
	connection = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connection < 0)
		return -1;
	while (connect(connection, (const struct sockaddr *)&address, sizeof address) < 0) {
		int error = errno;

		if (error == EINTR)
			continue;
		close(connection);
		errno = error;
		return -1;
	}
	return moved(connection, lowest);
}

int lifeline_arm(int connection)
{
	pid_t self = getpid();
	pid_t owner = getpgrp() == self ? -self : self;
	int flags;

	if (fcntl(connection, F_SETOWN, owner) < 0 || fcntl(connection, F_SETSIG, SIGKILL) < 0)
		return -1;
	flags = fcntl(connection, F_GETFL);
	if (flags < 0)
		return -1;
	return fcntl(connection, F_SETFL, flags | O_ASYNC);
}

bool lifeline_ended(int connection)
{
	struct pollfd watched = { .fd = connection, .events = POLLIN };
	int ready;

	do
		ready = poll(&watched, 1, 0);
	while (ready < 0 && errno == EINTR);
	/* The state of a connection that cannot be watched is unknown: it counts as ended. */
	return ready != 0;
}
