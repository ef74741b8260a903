#include "lifeline.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "execute.h"
#include "exit-status.h"
#include "report-error.h"

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
static int moved_to(int listener, int number)
{
	if (listener == number)
		return 0;
	if (dup2(listener, number) < 0)
		return -1;
	close(listener);
	return 0;
}

/* Makes a socket that listens at the descriptor `number` and stays open over exec: at a path that this user alone may
 * connect to, or for an empty path at a free port of 127.0.0.1. It is non-blocking, as servers need it. Returns the
 * port, 0 for a path; or -1 with errno. */
static int listen_at(int number, const char *path)
{
	int family = *path == '\0' ? AF_INET : AF_UNIX;
	int listener = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int port;

	if (listener < 0)
		return -1;
	port = family == AF_INET ? bind_loopback(listener) : bind_path(listener, path);
	if (port < 0 || listen(listener, BACKLOG) < 0 || moved_to(listener, number) < 0)
		return -1;
	return port;
}

/* The lifeline: the host's death ends this process and its process group.
 *
 * The host listens on a private socket. A process connects to it and never writes or reads. When the host dies, the
 * kernel closes its end; for an armed connection the kernel itself then sends SIGKILL, whatever the process does.
 */

/* One connection can miss a child that is forked while the group is being killed: it is not in the group yet when the
 * first signal is sent. */
enum { LIFELINE_CONNECTIONS = 2 };

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

/* Connects to the host's lifeline. Returns a descriptor that stays open over exec, not below `lowest` if the limit on
 * descriptors permits it; or -1 with errno. ENAMETOOLONG: no socket can have this path. */
static int lifeline_connect(const char *path, int lowest)
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

/* Asks the kernel for SIGKILL when anything happens on the connection: to the process group of this process if it leads
 * one, otherwise only to this process. It stays in force over fork and exec until every process has closed the
 * connection. Returns 0; or -1 with errno. */
static int lifeline_arm(int connection)
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

/* Returns whether the host has ended, or anything else has happened on the connection. The host may die between
 * connecting and arming: ask afterwards. */
static bool lifeline_ended(int connection)
{
	struct pollfd watched = { .fd = connection, .events = POLLIN };
	int ready;

	do
		ready = poll(&watched, 1, 0);
	while (ready < 0 && errno == EINTR);
	/* The state of a connection that cannot be watched is unknown: it counts as ended. */
	return ready != 0;
}

/* Above the numbers that scripts and programs choose (`exec 9>lock`, 200), below the usual limit of 1,024: a program
 * that opens something else at the number of a lifeline's descriptor closes the lifeline. */
enum { LOWEST_DESCRIPTOR = 768 };

enum { NO_REPORT = -1 };

struct request {
	const char *socket;
	/* Closed when the program is executed. If it cannot be: `STATUS ERRNO` and a line break, both in decimal. Before, for
	 * each listener with a port: `lFD PORT` and a line break. */
	int report;
	/* `--listen FD PATH` as often as there are listeners. */
	char **listeners;
	int listener_count;
	char **program;
};

/* The words of each. */
enum { LISTENER_WORDS = 3 };

static int parse_descriptor(const char *text)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || number <= STDERR_FILENO || number > 0xffff)
		return NO_REPORT;
	return (int)number;
}

static int parse(int count, char **arguments, struct request *request)
{
	int next = 1;

	if (count < 3)
		return -1;
	*request = (struct request){ .socket = arguments[0], .report = NO_REPORT };
	if (strcmp(arguments[next], "--report") == 0) {
		request->report = parse_descriptor(arguments[next + 1]);
		if (request->report == NO_REPORT)
			return -1;
		next += 2;
	}
	request->listeners = arguments + next;
	while (next + LISTENER_WORDS <= count && strcmp(arguments[next], "--listen") == 0) {
		if (parse_descriptor(arguments[next + 1]) == NO_REPORT)
			return -1;
		request->listener_count++;
		next += LISTENER_WORDS;
	}
	if (next + 1 >= count || strcmp(arguments[next], "--") != 0)
		return -1;
	request->program = arguments + next + 1;
	return 0;
}

/* Writes a number in decimal so that it ends before `end`; returns where it begins. */
static char *decimal(char *end, int number)
{
	do
		*--end = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	return end;
}

/* Writes `FIRST SECOND` and a line break, after a letter if it has one; false if no report was requested, or it cannot
 * be written. */
static bool report(const struct request *request, char letter, int first, int second)
{
	char line[32];
	char *end = line + sizeof line;
	char *begin;

	*--end = '\n';
	begin = decimal(end, second);
	*--begin = ' ';
	begin = decimal(begin, first);
	if (letter != '\0')
		*--begin = letter;
	return request->report != NO_REPORT && write(request->report, begin, (size_t)(end + 1 - begin)) > 0;
}

/* Reports why the program cannot be executed, to the host if it requested that, otherwise on standard error; returns
 * the exit status. */
static int refuse(const struct request *request, enum exit_status status, const char *what, const char *subject,
		  int error)
{
	if (!report(request, '\0', status, error))
		report_error(what, subject, error);
	return status;
}

/* Makes the program's listeners, and reports the port of each that has one: `lFD PORT`. */
static int listen_for(const struct request *request)
{
	for (int i = 0; i < request->listener_count; i++) {
		char **listener = request->listeners + (ptrdiff_t)LISTENER_WORDS * i;
		int number = parse_descriptor(listener[1]);
		int port = listen_at(number, listener[2]);

		if (port < 0)
			return refuse(request, NOT_LISTENING, "cannot listen", listener[2], errno);
		if (port > 0)
			report(request, 'l', number, port);
	}
	return 0;
}

static int tie(const struct request *request)
{
	const char *path = request->socket;

	for (int i = 0; i < LIFELINE_CONNECTIONS; i++) {
		int connection = lifeline_connect(path, LOWEST_DESCRIPTOR);

		if (connection < 0) {
			enum exit_status status = errno == ENAMETOOLONG ? WRONG_USAGE : HOST_GONE;

			return refuse(request, status, "cannot connect to the lifeline of the host", path, errno);
		}
		if (lifeline_arm(connection) < 0)
			return refuse(request, FAILED, "the kernel does not watch the lifeline", path, errno);
		if (lifeline_ended(connection))
			return refuse(request, HOST_GONE, "the host has ended: lifeline", path, 0);
	}
	return 0;
}

int launch(int count, char **arguments)
{
	struct request request;
	const char *name;
	int status;
	int error;

	if (parse(count, arguments, &request) < 0) {
		report_error("usage: snakepit-native lifeline SOCKET [--report FD] [--listen FD PATH]... -- PROGRAM ARGS...",
			 NULL, 0);
		return WRONG_USAGE;
	}
	if (request.report != NO_REPORT && fcntl(request.report, F_SETFD, FD_CLOEXEC) < 0) {
		report_error("the descriptor after --report is not open", NULL, errno);
		return WRONG_USAGE;
	}
	/* Before the lifeline, which takes any free number if the limit on descriptors is low. */
	status = listen_for(&request);
	if (status == 0)
		status = tie(&request);
	if (status != 0)
		return status;
	name = request.program[0];
	error = execute(request.program);
	return refuse(&request, error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE, "cannot execute", name, error);
}
