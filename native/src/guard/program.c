#include "program.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../execute.h"

static char **write_strings(char **strings, char *text, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		*strings++ = text;
		text = next_string(text);
	}
	*strings++ = NULL;
	return strings;
}

struct program *make_program(const struct request *start)
{
	/* The shell's place, the executable, the arguments, the variables, and a NULL after each of both. */
	size_t pointers = 2 + (size_t)start->argument_count + 1 + (size_t)start->variable_count + 1;
	struct program *program = calloc(1, sizeof *program + pointers * sizeof(char *));
	if (program == NULL)
		return NULL;
	program->directory = start->directory;
	program->arguments = (char **)(program + 1) + 1;
	program->arguments[0] = start->executable;
	program->variables = write_strings(program->arguments + 1, start->arguments, start->argument_count);
	write_strings(program->variables, start->variables, start->variable_count);
	return program;
}

int prepare_program(const struct program *program)
{
	if (chdir(program->directory) != 0)
		return errno;
	environ = program->variables;
	return check_executable(program->arguments);
}

int run_program(const struct program *program)
{
	return execute(program->arguments);
}
