/* The arguments of `run`: every accepted form, and every refusal with its message. */
#include "../../src/run/request.h"

#include <string.h>

#include "../check.h"

enum { MOST = 8 };

static struct request request;
static struct misspelling wrong;

/* Parses up to MOST arguments, after which there is a NULL as in those of a program. */
static bool parse(const char *const arguments[])
{
	static char *copy[MOST + 1];
	int count = 0;
	for (; arguments[count] != NULL; count++)
		copy[count] = (char *)arguments[count];
	copy[count] = NULL;
	return parse_run(count, copy, &request, &wrong);
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void defaults_and_options_are_as_documented(void)
{
	CHECK(PARSE("--", "ls", "--verbose"));
	CHECK(request.grace_ms == 5000 && !request.verbose && !request.with_input);
	CHECK(strcmp(request.command[0], "ls") == 0 && strcmp(request.command[1], "--verbose") == 0);
	CHECK(request.command[2] == NULL && strcmp(request.command[-1], "--") == 0);
	CHECK(PARSE("--verbose", "--with-stdin", "--grace", "2m", "--", "ls"));
	CHECK(request.grace_ms == 120000 && request.verbose && request.with_input);
}

static void times_have_a_unit_and_a_limit(void)
{
	static const struct {
		const char *text;
		int ms;
	} times[] = {{"0", 0}, {"0s", 0}, {"1ms", 1}, {"500ms", 500}, {"5s", 5000}, {"1440m", MAX_GRACE_MS},
		{"86400s", MAX_GRACE_MS}, {"1441m", -1}, {"86400001ms", -1}, {"", -1}, {"5", -1}, {"s", -1}, {"-5s", -1},
		{"+5s", -1}, {" 5s", -1}, {"5 s", -1}, {"5sx", -1}, {"1.5s", -1}, {"0x5s", -1}, {"5h", -1},
		{"99999999999999999999ms", -1}};
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		char joined[64];
		snprintf(joined, sizeof joined, "--grace=%s", times[i].text);
		CHECK(PARSE("--grace", times[i].text, "--", "ls") == (times[i].ms >= 0));
		CHECK(PARSE(joined, "--", "ls") == (times[i].ms >= 0));
		if (times[i].ms >= 0)
			CHECK(request.grace_ms == times[i].ms);
		else
			CHECK(strcmp(wrong.argument, times[i].text[0] == '\0' ? "(nothing)" : times[i].text) == 0);
	}
}

static void what_is_wrong_is_named(void)
{
	CHECK(!PARSE("--") && wrong.argument == NULL && strstr(wrong.what, "command is missing") != NULL);
	CHECK(!PARSE("--verbose") && strstr(wrong.what, "command is missing") != NULL);
	CHECK(!PARSE("--grace") && strstr(wrong.what, "--grace") != NULL);
	CHECK(!PARSE("--graceful", "--", "ls") && strcmp(wrong.argument, "--graceful") == 0);
	CHECK(!PARSE("ls", "-l") && strcmp(wrong.argument, "ls") == 0);
	CHECK(!parse_run(0, (char *[]){NULL}, &request, &wrong));
}

int main(void)
{
	defaults_and_options_are_as_documented();
	times_have_a_unit_and_a_limit();
	what_is_wrong_is_named();
	return 0;
}
