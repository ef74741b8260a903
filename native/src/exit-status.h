/* How this binary ends, in one number. The program that `lifeline` executes ends as it likes. */
#ifndef EXIT_STATUS_H
#define EXIT_STATUS_H

enum exit_status {
	WRONG_USAGE = 64,
	FAILED = 70,
	/* The host has ended, or does not listen where we were asked to connect. */
	HOST_GONE = 71,
	/* As the shell's: the program was found and could not be executed; it was not found. */
	NOT_EXECUTABLE = 126,
	NOT_FOUND = 127,
};

#endif
