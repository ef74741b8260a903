#ifndef EXECUTE_H
#define EXECUTE_H

/* Executes a program as execvp of glibc does, on any libc: a name without a slash is looked up in PATH, and a file that
 * the kernel cannot execute is a script for /bin/sh. arguments[0] names the program; arguments[-1] must exist, for the
 * shell. Returns only when that fails: the errno. Does not allocate. */
int execute(char **arguments);

/* Whether `execute` would find a file that may be executed: 0, or the errno that it would return. Common reasons are
 * covered: an exec can still fail. */
int check_executable(char **arguments);

#endif
