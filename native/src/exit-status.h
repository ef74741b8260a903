/* The exit statuses of this binary. The programs that `lifeline` and `run` execute have their own. */
#ifndef EXIT_STATUS_H
#define EXIT_STATUS_H

enum exit_status {
	/* Wrong arguments of `run`, as of most commands. */
	RUN_MISSPELT = 2,
	WRONG_USAGE = 64,
	FAILED = 70,
	/* The host has ended, or does not listen on the given socket. */
	HOST_GONE = 71,
	/* A listening socket for the program could not be created. */
	NOT_LISTENING = 73,
	/* `run` itself failed, or its parent had ended. As that of timeout(1). */
	RUN_FAILED = 125,
	/* As in the shell: the program was found but could not be executed; it was not found. */
	NOT_EXECUTABLE = 126,
	NOT_FOUND = 127,
};

#endif
