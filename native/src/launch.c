#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "execute.h"
#include "exit-status.h"
#include "lifeline.h"
#include "listen.h"

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
		complain(what, subject, error);
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
		complain("usage: snakepit-native lifeline SOCKET [--report FD] [--listen FD PATH]... -- PROGRAM ARGS...",
			 NULL, 0);
		return WRONG_USAGE;
	}
	if (request.report != NO_REPORT && fcntl(request.report, F_SETFD, FD_CLOEXEC) < 0) {
		complain("the descriptor after --report is not open", NULL, errno);
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
