#ifndef RUN_REQUEST_H
#define RUN_REQUEST_H

#include <stdbool.h>

/* What `run` is asked to do. */
struct request {
	/* From SIGTERM to SIGKILL. */
	int grace_ms;
	/* The command must also end when its standard input ends. */
	bool with_input;
	/* Writes a line to standard error for each step. */
	bool verbose;
	/* Ends with NULL; command[-1] exists. */
	char **command;
};

enum { DEFAULT_GRACE_MS = 5000, MAX_GRACE_MS = 86400000 };

/* Why arguments are not understood: what is wrong, and which argument. */
struct misspelling {
	/* The message; `argument`, if there is one, follows it. */
	const char *what;
	const char *argument;
	const char *remedy;
};

/* Parses `[--grace TIME] [--with-stdin] [--verbose] -- COMMAND ARGS...`; false, with the reason, if the arguments are not
 * that. A time is a whole number with the unit ms, s or m, or 0. */
bool parse_run(int count, char **arguments, struct request *request, struct misspelling *wrong);

#endif
