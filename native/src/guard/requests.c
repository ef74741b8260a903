#include "requests.h"

#include <string.h>

/* The fixed part of a start, and its strings besides arguments and variables. */
enum { START_BYTES = 1 + 4 + 1 + 4 + 4, NAMED_STRINGS = 3 };

static uint32_t number_at(const char *bytes)
{
	uint32_t number = 0;
	for (int i = 0; i < 4; i++)
		number = number << 8 | (unsigned char)bytes[i];
	return number;
}

char *next_string(char *string)
{
	return string + strlen(string) + 1;
}

static bool is_variable(const char *text)
{
	const char *end = strchr(text, '=');
	return end != NULL && end != text;
}

static bool parse_start(char *bytes, size_t length, struct request *request)
{
	/* Without a NUL at the end, a search for the end of a string would run past the bytes. */
	if (length <= START_BYTES || bytes[length - 1] != '\0')
		return false;
	request->descriptors = (unsigned char)bytes[5];
	request->argument_count = number_at(bytes + 6);
	request->variable_count = number_at(bytes + 10);
	uint64_t strings = 0;
	for (size_t i = START_BYTES; i < length; i++)
		strings += bytes[i] == '\0';
	if (strings != NAMED_STRINGS + (uint64_t)request->argument_count + request->variable_count)
		return false;
	request->label = bytes + START_BYTES;
	request->executable = next_string(request->label);
	request->directory = next_string(request->executable);
	request->arguments = next_string(request->directory);
	char *string = request->arguments;
	for (uint32_t i = 0; i < request->argument_count; i++)
		string = next_string(string);
	request->variables = string;
	for (uint32_t i = 0; i < request->variable_count; i++) {
		if (!is_variable(string))
			return false;
		string = next_string(string);
	}
	return strlen(request->label) <= MAX_LABEL_BYTES;
}

bool parse_request(char *bytes, size_t length, struct request *request)
{
	*request = (struct request){0};
	if (length < 1)
		return false;
	unsigned char kind = (unsigned char)bytes[0];
	if (kind < REQUEST_START || kind > REQUEST_END)
		return false;
	request->kind = (enum request_kind)kind;
	if (kind == REQUEST_END)
		return length == 1;
	if (length < 5)
		return false;
	request->id = number_at(bytes + 1);
	return kind == REQUEST_START ? parse_start(bytes, length, request) : length == 5;
}
