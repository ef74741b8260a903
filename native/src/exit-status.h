/* How this binary ends, in one number. The programs that `lifeline` and `run` execute end as they like. */
#ifndef EXIT_STATUS_H
#define EXIT_STATUS_H

enum exit_status {
	/* Of `run`, as of everything that people type. */
	RUN_MISSPELT = 2,
	WRONG_USAGE = 64,
	FAILED = 70,
	/* The host has ended, or does not listen where we were asked to connect. */
	HOST_GONE = 71,
	/* A socket that the program was to find listening could not be made. */
	NOT_LISTENING = 73,
	/* `run` itself failed, or its parent had ended. As that of timeout(1). */
	RUN_FAILED = 125,
	/* As the shell's: the program was found and could not be executed; it was not found. */
	NOT_EXECUTABLE = 126,
	NOT_FOUND = 127,
};

#endif
