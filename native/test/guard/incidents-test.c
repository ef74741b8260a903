/* A guard's record is one JSON object per line, whatever a label contains, and is limited. */
#include "../../src/guard/incidents.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"

/* A guard that waited here would kill nothing. */
static void nothing_is_written_into_what_is_no_plain_file(const char *path)
{
	char link[4096];
	snprintf(link, sizeof link, "%s.link", path);
	CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
	alarm(20);
	/* Without a reader, and with one. */
	record_settled();
	int reader = open(path, O_RDONLY | O_NONBLOCK);
	record_settled();
	char byte;
	CHECK(reader >= 0 && read(reader, &byte, 1) == 0);
	alarm(0);
	close(reader);
	CHECK(unlink(path) == 0 && symlink(link, path) == 0);
	record_settled();
	CHECK(access(link, F_OK) != 0 && unlink(path) == 0);
}

int main(int count, char **arguments)
{
	CHECK(count == 2);
	struct setting setting = {.incidents = arguments[1], .run_id = "k3x9a2p"};
	struct process process = {.pid = 5, .start = 12345678901ULL};
	struct step step = {.process = &process, .root = 5, .below = {&process, &process}};
	open_incidents(&setting);
	record_kill(&step, "w\"1\\\n\xc3\xbc");
	write_incidents();
	/* Nothing is written while the host lives. */
	CHECK(access(arguments[1], F_OK) != 0);
	record_host_death();
	record_host_death();
	char longest[201];
	memset(longest, '"', 200);
	longest[200] = '\0';
	for (int i = 0; i < MAX_NAMED + 50; i++)
		record_kill(&step, longest);
	CHECK(count_kills() == MAX_NAMED + 51);
	record_settled();
	static char text[1 << 20];
	int file = open(arguments[1], O_RDONLY);
	ssize_t length = read(file, text, sizeof text - 1);
	CHECK(file >= 0 && length > 0);
	close(file);
	struct stat seen;
	CHECK(stat(arguments[1], &seen) == 0 && (seen.st_mode & 07777) == 0600);
	static const char first[] = "\"startTime\":\"12345678901\",\"incarnation\":\"w\\u00221\\u005c\\u000a\xc3\xbc\","
		"\"below\":[{\"pid\":5,\"startTime\":\"12345678901\"},{\"pid\":5,\"startTime\":\"12345678901\"}],"
		"\"foundBy\":\"descent\",\"signal\":\"SIGKILL\"}\n";
	CHECK(strstr(text, first) != NULL);
	int lines = 0;
	for (char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
		char *end = strchr(line, '\n');
		CHECK(end != NULL && *line == '{' && end[-1] == '}');
		lines++;
	}
	/* Those that are named, the death of the host, and the end. */
	CHECK(lines == MAX_NAMED + 2);
	nothing_is_written_into_what_is_no_plain_file(arguments[1]);
	return 0;
}
