/* Shows what a guard does to processes that it saw and whose pids now belong to others.
 *
 * Reads `{"see": [pid, ...]}` and remembers these processes as a guard does that is about to kill them;
 * `{"send": true}` kills them. Answers each with one line of JSON. A program of chaos. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/guard/killing.h"

enum { MOST = 1024, LINE_BYTES = 65536 };

static struct process seen[MOST];

static int see(char *line)
{
	int count = 0;
	for (char *at = line; *at != '\0' && count < MOST;) {
		char *end;
		long pid = strtol(at, &end, 10);
		if (end == at) {
			at++;
			continue;
		}
		count += look((pid_t)pid, &seen[count]);
		at = end;
	}
	return count;
}

int main(void)
{
	static char line[LINE_BYTES];
	int count = 0;
	while (fgets(line, sizeof line, stdin) != NULL) {
		if (strstr(line, "\"see\"") != NULL) {
			count = see(line);
			/* Each as one that leads its group, and as one that is killed alone. */
			printf("{\"seen\": %d}\n", 2 * count);
		} else {
			int gone = 0;
			for (int i = 0; i < count; i++)
				for (enum reach reach = REACH_PROCESS; reach <= REACH_GROUP; reach++) {
					struct step step = {.process = &seen[i], .reach = reach, .root = seen[i].pid};
					gone += send_kill(&step) == OUTCOME_GONE;
				}
			printf("{\"gone\": %d}\n", gone);
		}
		fflush(stdout);
	}
	return 0;
}
