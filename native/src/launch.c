#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "execute.h"
#include "exit-status.h"
#include "lifeline.h"

/* Above what scripts and programs choose for themselves (`exec 9>lock`, 200), below the usual limit of 1,024: a program
 * that puts something else at the number of a lifeline's descriptor closes the lifeline. */
enum { LOWEST_DESCRIPTOR = 768 };

enum { NO_REPORT = -1 };

struct request {
	const char *socket;
	/* Closed when the program is executed; if that fails, the errno is written there in decimal first. */
	int report;
	char **program;
};

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
	if (next + 1 >= count || strcmp(arguments[next], "--") != 0)
		return -1;
	request->program = arguments + next + 1;
	return 0;
}

static int tie(const char *path)
{
	for (int i = 0; i < LIFELINE_CONNECTIONS; i++) {
		int connection = lifeline_connect(path, LOWEST_DESCRIPTOR);

		if (connection < 0) {
			complain("the host is gone: lifeline", path, errno);
			return errno == ENAMETOOLONG ? WRONG_USAGE : HOST_GONE;
		}
		if (lifeline_arm(connection) < 0) {
			complain("the kernel refuses to watch the lifeline", path, errno);
			return FAILED;
		}
		if (lifeline_ended(connection)) {
			complain("the host has ended: lifeline", path, 0);
			return HOST_GONE;
		}
	}
	return 0;
}

static void report_error(int descriptor, int error)
{
	char digits[16];
	char *begin = digits + sizeof digits;

	do
		*--begin = (char)('0' + error % 10);
	while ((error /= 10) > 0);
	if (write(descriptor, begin, (size_t)(digits + sizeof digits - begin)) < 0)
		complain("cannot report", NULL, errno);
}

int launch(int count, char **arguments)
{
	struct request request;
	const char *name;
	int status;
	int error;

	if (parse(count, arguments, &request) < 0) {
		complain("usage: snakepit-native lifeline SOCKET [--report FD] -- PROGRAM ARGS...", NULL, 0);
		return WRONG_USAGE;
	}
	if (request.report != NO_REPORT && fcntl(request.report, F_SETFD, FD_CLOEXEC) < 0) {
		complain("the descriptor after --report is not open", NULL, errno);
		return WRONG_USAGE;
	}
	status = tie(request.socket);
	if (status != 0)
		return status;
	name = request.program[0];
	error = execute(request.program);
	complain("cannot execute", name, error);
	if (request.report != NO_REPORT)
		report_error(request.report, error);
	return error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
}
