#include "process-table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "directory.h"

enum { PATH_BYTES = 64, STAT_BYTES = 1024, LIST_BYTES = 4096 };

static int open_proc(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool look(pid_t pid, struct process *seen)
{
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	int file = open_proc(path);
	if (file < 0)
		return false;
	char text[STAT_BYTES];
	ssize_t length = read(file, text, sizeof text);
	close(file);
	return length > 0 && parse_stat(pid, text, (size_t)length, seen);
}

bool parse_stat(pid_t pid, const char *text, size_t length, struct process *seen)
{
	/* Fields after the name, which may contain anything: the state and 19 numbers, the last of
	 * which is the start time (field 22 of all). */
	enum { PARENT, GROUP, SESSION, START = 18, NUMBERS };
	char line[STAT_BYTES];
	const char *end = NULL;
	for (size_t i = 0; i < length; i++)
		if (text[i] == ')')
			end = text + i;
	if (end == NULL)
		return false;
	size_t rest = length - (size_t)(end - text) - 1;
	if (rest >= sizeof line)
		return false;
	memcpy(line, end + 1, rest);
	line[rest] = '\0';
	if (rest < 3 || line[0] != ' ' || line[2] != ' ')
		return false;
	long long numbers[NUMBERS];
	char *next = line + 2;
	for (int i = 0; i < NUMBERS; i++) {
		char *begin = next;
		errno = 0;
		numbers[i] = strtoll(begin, &next, 10);
		if (next == begin || errno != 0)
			return false;
	}
	for (int i = PARENT; i <= SESSION; i++)
		if (numbers[i] < 0 || numbers[i] > INT_MAX)
			return false;
	*seen = (struct process){
		.pid = pid,
		.parent = (pid_t)numbers[PARENT],
		.group = (pid_t)numbers[GROUP],
		.session = (pid_t)numbers[SESSION],
		.start = (unsigned long long)numbers[START],
		.zombie = line[1] == 'Z' || line[1] == 'X' || line[1] == 'x',
	};
	return true;
}

enum children_source children_source(void)
{
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	return access(path, F_OK) == 0 ? CHILDREN_LISTED : CHILDREN_SEARCHED;
}

struct visit {
	pid_t parent;
	bool (*found)(pid_t child, void *context);
	void *context;
};

/* Reads the children that one thread has, however the text is cut. */
static bool visit_thread(long thread, void *context)
{
	struct visit *visit = context;
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/task/%ld/children", (int)visit->parent, thread);
	int file = open_proc(path);
	if (file < 0)
		return true;
	char text[LIST_BYTES];
	long long child = 0;
	bool goes_on = true;
	ssize_t length;
	while (goes_on && (length = read(file, text, sizeof text)) > 0)
		for (ssize_t i = 0; goes_on && i < length; i++) {
			if (text[i] >= '0' && text[i] <= '9' && child <= INT_MAX) {
				child = 10 * child + (text[i] - '0');
			} else if (child > 0 && child <= INT_MAX) {
				goes_on = visit->found((pid_t)child, visit->context);
				child = 0;
			}
		}
	close(file);
	return goes_on;
}

static bool visit_process(long pid, void *context)
{
	struct visit *visit = context;
	struct process seen;
	if (pid > INT_MAX || !look((pid_t)pid, &seen) || seen.parent != visit->parent)
		return true;
	return visit->found(seen.pid, visit->context);
}

void children_of(pid_t pid, enum children_source source, bool (*found)(pid_t child, void *context),
	void *context)
{
	struct visit visit = {.parent = pid, .found = found, .context = context};
	if (source == CHILDREN_SEARCHED) {
		for_each_number("/proc", visit_process, &visit);
		return;
	}
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	for_each_number(path, visit_thread, &visit);
}

static bool add(pid_t child, void *context)
{
	struct descendants *list = context;
	if (list->count == MAX_DESCENDANTS)
		return false;
	for (int i = 0; i < list->count; i++)
		if (list->processes[i].pid == child)
			return true; /* Its parent has changed meanwhile. */
	list->processes[list->count++].pid = child;
	return true;
}

/* Adds the children of one process. They are read only after they were listed: only two descriptors may be left. */
static void add_children(pid_t pid, int above, enum children_source source, struct descendants *list)
{
	int first = list->count;
	children_of(pid, source, add, list);
	int last = list->count;
	list->count = first;
	for (int i = first; i < last; i++)
		if (look(list->processes[i].pid, &list->processes[list->count]))
			list->above[list->count++] = above;
}

void descendants_of(pid_t pid, enum children_source source, struct descendants *list)
{
	list->count = 0;
	add_children(pid, -1, source, list);
	for (int i = 0; i < list->count; i++)
		add_children(list->processes[i].pid, i, source, list);
}
