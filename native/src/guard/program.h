#ifndef GUARD_PROGRAM_H
#define GUARD_PROGRAM_H

#include "requests.h"

/* A program in the form that execve takes, prepared before the fork: a child between fork and exec must not allocate
 * memory. */
struct program {
	const char *directory;
	/* The executable, the arguments, NULL; in front of the executable is a place for the shell. */
	char **arguments;
	char **variables;
};

/* Makes the program of a start, whose bytes must outlive it; NULL without memory. One free(3) frees it. */
struct program *make_program(const struct request *start);

/* In the child: takes the working directory and the environment, and checks without executing it whether the program
 * can be executed. Returns 0 or an error number. An exec can still fail after it: common reasons are covered. */
int prepare_program(const struct program *program);

/* In the child, after `prepare_program`: replaces this process; returns an error number if the system cannot execute
 * the program. */
int run_program(const struct program *program);

#endif
