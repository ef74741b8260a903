#include "setting.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* Run ids are short. What is written with them must need no escape. */
static bool is_run_id(const char *text)
{
	size_t length = strlen(text);
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	return length > 0 && length <= 64 && strspn(text, allowed) == length;
}

bool parse_setting(int count, char *const arguments[], struct setting *setting)
{
	*setting = (struct setting){.host = getppid()};
	if (count != 6)
		return false;
	for (int i = 0; i < count; i += 2) {
		const char **field = NULL;
		if (strcmp(arguments[i], "--socket") == 0)
			field = &setting->socket;
		else if (strcmp(arguments[i], "--incidents") == 0)
			field = &setting->incidents;
		else if (strcmp(arguments[i], "--run-id") == 0)
			field = &setting->run_id;
		if (field == NULL || *field != NULL)
			return false;
		*field = arguments[i + 1];
	}
	return is_run_id(setting->run_id);
}
