#include "request.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char grace[] = "--grace";

/* Milliseconds in a unit; 0 if it is none. */
static long milliseconds_in(const char *unit)
{
	if (strcmp(unit, "ms") == 0)
		return 1;
	if (strcmp(unit, "s") == 0)
		return 1000;
	return strcmp(unit, "m") == 0 ? 60000 : 0;
}

static bool parse_time(const char *text, int *result)
{
	if (strcmp(text, "0") == 0) {
		*result = 0;
		return true;
	}
	char *unit;
	errno = 0;
	long number = strtol(text, &unit, 10);
	long factor = milliseconds_in(unit);
	if (*text < '0' || *text > '9' || errno != 0 || factor == 0 || number > MAX_GRACE_MS / factor)
		return false;
	*result = (int)(number * factor);
	return true;
}

static bool misspelt(struct misspelling *wrong, const char *what, const char *argument, const char *remedy)
{
	*wrong = (struct misspelling){.what = what, .argument = argument, .remedy = remedy};
	return false;
}

bool parse_run(int count, char **arguments, struct request *request, struct misspelling *wrong)
{
	*request = (struct request){.grace_ms = DEFAULT_GRACE_MS};
	for (int next = 0; next < count; next++) {
		const char *argument = arguments[next];
		if (strcmp(argument, "--") == 0) {
			request->command = arguments + next + 1;
			break;
		}
		if (strcmp(argument, "--with-stdin") == 0) {
			request->with_input = true;
		} else if (strcmp(argument, "--verbose") == 0) {
			request->verbose = true;
		} else if (strncmp(argument, grace, sizeof grace - 1) == 0 &&
			(argument[sizeof grace - 1] == '=' || argument[sizeof grace - 1] == '\0')) {
			const char *time = argument[sizeof grace - 1] == '=' ? argument + sizeof grace
				: next + 1 < count			     ? arguments[++next]
									     : "";
			if (!parse_time(time, &request->grace_ms))
				return misspelt(wrong, "this is not a time for --grace", *time == '\0' ? "(nothing)" : time,
					"Give 0, or a time up to 1440m with its unit: 500ms, 5s or 2m.");
		} else if (argument[0] == '-') {
			return misspelt(wrong, "unknown option", argument, "The options are --grace TIME, --with-stdin, --verbose and --help.");
		} else {
			return misspelt(wrong, "this is not an option", argument, "Write -- before the command: snakepit run -- COMMAND.");
		}
	}
	if (request->command == NULL || request->command[0] == NULL)
		return misspelt(wrong, "the command is missing", NULL, "Write it after --: snakepit run -- COMMAND.");
	return true;
}
