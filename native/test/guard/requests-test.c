/* Requests are what a host writes, and any other bytes are refused: no byte is read beyond them. */
#include <string.h>

#include "../../src/guard/requests.h"
#include "../check.h"

/* The same bytes as in packages/core/test/os/fork-messages.test.ts. */
static const char start[] =
	"\x01\x01\x02\x03\x04\x0e\0\0\0\x02\0\0\0\x01"
	"run-1\0sh\0/\0-c\0\0A=\xc3\xbc"; /* The literal's own NUL is the last byte. */

enum { MUTATIONS = 200000, LONGEST = 128 };

/* Parses a copy of exactly this length, so that the sanitizer notices a read beyond it. */
static bool parses(const char *bytes, size_t length, struct request *request, char **copy)
{
	*copy = malloc(length == 0 ? 1 : length);
	memcpy(*copy, bytes, length);
	return parse_request(*copy, length, request);
}

static bool is_refused(const char *bytes, size_t length)
{
	struct request request;
	char *copy;
	bool parsed = parses(bytes, length, &request, &copy);
	free(copy);
	return !parsed;
}

static void a_start_is_read(void)
{
	struct request request;
	char *copy;
	CHECK(parses(start, sizeof start, &request, &copy));
	CHECK(request.kind == REQUEST_START && request.id == 0x01020304 && request.descriptors == 14);
	CHECK(strcmp(request.label, "run-1") == 0 && strcmp(request.executable, "sh") == 0);
	CHECK(strcmp(request.directory, "/") == 0);
	CHECK(request.argument_count == 2 && strcmp(request.arguments, "-c") == 0);
	CHECK(*next_string(request.arguments) == '\0');
	CHECK(request.variable_count == 1 && strcmp(request.variables, "A=\xc3\xbc") == 0);
	free(copy);
}

static void the_others_have_a_number_and_nothing_else(void)
{
	for (char kind = REQUEST_GO; kind <= REQUEST_REAP; kind++) {
		char bytes[6] = {kind, 0, 0, 1, 0, 0};
		struct request request;
		CHECK(parse_request(bytes, 5, &request) && (char)request.kind == kind && request.id == 256);
		CHECK(is_refused(bytes, 4) && is_refused(bytes, 6));
	}
	CHECK(!is_refused("\x05", 1) && is_refused("\x05\0", 2));
	CHECK(is_refused("", 0) && is_refused("\0", 1) && is_refused("\x06", 1));
}

static void a_start_that_is_wrong_in_one_thing_is_refused(void)
{
	char bytes[sizeof start + 300];
	for (size_t length = 0; length < sizeof start; length++)
		CHECK(is_refused(start, length));
	memcpy(bytes, start, sizeof start);
	bytes[sizeof start] = '\0';
	CHECK(is_refused(bytes, sizeof start + 1));
	static const struct {
		size_t at;
		char byte;
	} wrong[] = {{6, -1}, {9, 1}, {9, 3}, {10, -1}, {13, 0}, {13, 2},
		{sizeof start - 5, '='}, {sizeof start - 4, 'A'}, {sizeof start - 1, 'x'}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		memcpy(bytes, start, sizeof start);
		bytes[wrong[i].at] = wrong[i].byte;
		CHECK(is_refused(bytes, sizeof start));
	}
}

static void a_label_has_a_limit(void)
{
	for (size_t extra = 0; extra < 2; extra++) {
		char bytes[MAX_LABEL_BYTES + 100];
		size_t label = MAX_LABEL_BYTES + extra;
		memcpy(bytes, start, 14);
		memset(bytes + 14, 'x', label);
		memcpy(bytes + 14 + label, start + 19, sizeof start - 19);
		CHECK(is_refused(bytes, label + sizeof start - 5) == (extra == 1));
	}
}

/* What is parsed lies within the bytes, and its strings are as many as were announced. */
static void check_within(const struct request *request, const char *bytes, size_t length)
{
	const char *end = bytes + length;
	char *string = request->label;
	CHECK(string > bytes);
	for (uint64_t i = 0; i < 3 + (uint64_t)request->argument_count + request->variable_count; i++) {
		CHECK(string < end);
		string = next_string(string);
	}
	CHECK(string == end);
}

static void any_bytes_are_a_request_or_refused(void)
{
	unsigned int seed = 20;
	int parsed = 0;
	for (int i = 0; i < MUTATIONS; i++) {
		char bytes[LONGEST];
		size_t length = sizeof start;
		memcpy(bytes, start, sizeof start);
		for (unsigned int n = chance(&seed, 4); n > 0; n--) {
			size_t at = chance(&seed, (unsigned int)length);
			switch (chance(&seed, 4)) {
			case 0: /* Another byte, often one that counts something. */
				bytes[at] = (char)(chance(&seed, 2) == 0 ? chance(&seed, 256) : chance(&seed, 5));
				break;
			case 1: /* Cut. */
				length = at == 0 ? 1 : at;
				break;
			case 2: /* Some more. */
				while (length < LONGEST && chance(&seed, 8) != 0)
					bytes[length++] = (char)(chance(&seed, 3) == 0 ? 0 : chance(&seed, 256));
				break;
			default: /* Another piece of itself. */
				memmove(bytes + at / 2, bytes + at, length - at);
			}
		}
		struct request request;
		char *copy;
		if (parses(bytes, length, &request, &copy)) {
			parsed++;
			if (request.kind == REQUEST_START)
				check_within(&request, copy, length);
		}
		free(copy);
	}
	/* Otherwise the changes are so great that nothing behind the first check is tried. */
	CHECK(parsed > MUTATIONS / 10 && parsed < MUTATIONS);
}

int main(void)
{
	a_start_is_read();
	the_others_have_a_number_and_nothing_else();
	a_start_that_is_wrong_in_one_thing_is_refused();
	a_label_has_a_limit();
	any_bytes_are_a_request_or_refused();
	return 0;
}
