#include "execute.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static char shell[] = "/bin/sh";
static const char default_path[] = "/bin:/usr/bin";

static int execute_file(char *file, char **arguments)
{
	execve(file, arguments, environ);
	if (errno == ENOEXEC) {
		char *name = arguments[0];

		arguments[-1] = shell;
		arguments[0] = file;
		execve(shell, arguments - 1, environ);
		arguments[0] = name;
		return ENOEXEC;
	}
	return errno;
}

/* Whether the next directory may have it; the list is that of glibc. */
static int goes_on(int error)
{
	switch (error) {
	case EACCES:
	case ENODEV:
	case ENOENT:
	case ENOTDIR:
	case ESTALE:
	case ETIMEDOUT:
		return 1;
	default:
		return 0;
	}
}

static int check_file(char *file, char **arguments)
{
	struct stat status;

	(void)arguments;
	if (stat(file, &status) != 0)
		return errno;
	/* The error that execve returns for a directory. */
	return S_ISREG(status.st_mode) && access(file, X_OK) == 0 ? 0 : EACCES;
}

/* Tries each file that the name can stand for, until one is not refused. */
static int search(char **arguments, int (*attempt)(char *file, char **arguments))
{
	const char *name = arguments[0];
	const char *directory = getenv("PATH");
	size_t name_length = strlen(name);
	int result = ENOENT;

	if (name_length == 0)
		return ENOENT;
	if (strchr(name, '/') != NULL)
		return attempt(arguments[0], arguments);
	if (directory == NULL)
		directory = default_path;
	for (;;) {
		static char file[PATH_MAX];
		size_t length = strcspn(directory, ":");

		if (length + 1 + name_length < sizeof file) {
			char *end = file;
			int error;

			/* An empty entry is the working directory. */
			if (length > 0) {
				memcpy(end, directory, length);
				end += length;
				*end++ = '/';
			}
			memcpy(end, name, name_length + 1);
			error = attempt(file, arguments);
			if (!goes_on(error))
				return error;
			/* A file without permission is a better report than no file at all. */
			if (error == EACCES)
				result = EACCES;
		}
		if (directory[length] == '\0')
			return result;
		directory += length + 1;
	}
}

int execute(char **arguments)
{
	return search(arguments, execute_file);
}

int check_executable(char **arguments)
{
	return search(arguments, check_file);
}
