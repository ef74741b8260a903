#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* As many as Node lets wait. */
enum { BACKLOG = 511 };

static int bind_path(int listener, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(path);
	mode_t mask;
	int bound;

	if (length >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, length);
	mask = umask(0177);
	bound = bind(listener, (const struct sockaddr *)&address, sizeof address);
	umask(mask);
	return bound;
}

/* Returns the port. */
static int bind_loopback(int listener)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof address;

	if (bind(listener, (const struct sockaddr *)&address, sizeof address) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) < 0)
		return -1;
	return ntohs(address.sin_port);
}

/* Moves a descriptor to the number that the program knows. */
static int moved(int listener, int number)
{
	if (listener == number)
		return 0;
	if (dup2(listener, number) < 0)
		return -1;
	close(listener);
	return 0;
}

int listen_at(int number, const char *path)
{
	int family = *path == '\0' ? AF_INET : AF_UNIX;
	int listener = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int port;

	if (listener < 0)
		return -1;
	port = family == AF_INET ? bind_loopback(listener) : bind_path(listener, path);
	if (port < 0 || listen(listener, BACKLOG) < 0 || moved(listener, number) < 0)
		return -1;
	return port;
}
