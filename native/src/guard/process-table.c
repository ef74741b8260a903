#include "process-table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK_BYTES = 4096 };

/* struct linux_dirent64 of getdents64(2): its length is at 16, its name at 19. */
enum { LENGTH_AT = 16, NAME_AT = 19 };

static long number_of(const char *name)
{
	if (*name < '1' || *name > '9')
		return 0;
	char *end;
	errno = 0;
	long number = strtol(name, &end, 10);
	return *end == '\0' && errno == 0 ? number : 0;
}

void for_each_number(const char *path, bool (*found)(long number, void *context), void *context)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	char chunk[CHUNK_BYTES];
	long length;
	bool goes_on = true;
	while (goes_on && (length = syscall(SYS_getdents64, directory, chunk, sizeof chunk)) > 0)
		for (long at = 0; goes_on && at < length;) {
			uint16_t entry;
			memcpy(&entry, chunk + at + LENGTH_AT, sizeof entry);
			long number = number_of(chunk + at + NAME_AT);
			if (number > 0)
				goes_on = found(number, context);
			at += entry;
		}
	close(directory);
}

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
	enum { PARENT, GROUP, SESSION, THREADS = 16, START = 18, NUMBERS };
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
		.zombie = (line[1] == 'Z' || line[1] == 'X' || line[1] == 'x') && numbers[THREADS] <= 1,
	};
	return true;
}

/* Whether it is a child of this process, and dead. */
static bool ask(pid_t pid, bool *is_dead)
{
	siginfo_t end = {0};
	int result;
	while ((result = waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT)) != 0 && errno == EINTR)
		continue;
	*is_dead = end.si_pid == pid;
	return result == 0;
}

bool look_at_child(pid_t pid, struct process *seen)
{
	bool is_dead;
	if (look(pid, seen))
		return true;
	if (!ask(pid, &is_dead))
		return false;
	/* Until this process reaps it, its pid is its own. */
	*seen = (struct process){
		.pid = pid,
		.parent = getpid(),
		.group = getpgid(pid),
		.session = getsid(pid),
		.zombie = is_dead,
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
	bool was_read;
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
	visit->was_read = true;
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

bool children_of(pid_t pid, enum children_source source, bool (*found)(pid_t child, void *context),
	void *context)
{
	struct visit visit = {.parent = pid, .found = found, .context = context};
	if (source == CHILDREN_SEARCHED) {
		for_each_number("/proc", visit_process, &visit);
		return true;
	}
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	for_each_number(path, visit_thread, &visit);
	return visit.was_read;
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

/* Adds the children of one process. They are read only after they were listed: only two descriptors may be left.
 * Returns whether they could be listed. */
static bool add_children(pid_t pid, int above, enum children_source source, struct descendants *list)
{
	bool (*read)(pid_t pid, struct process *seen) = above < 0 ? look_at_child : look;
	int first = list->count;
	bool was_read = children_of(pid, source, add, list);
	int last = list->count;
	list->count = first;
	for (int i = first; i < last; i++)
		if (read(list->processes[i].pid, &list->processes[list->count]))
			list->above[list->count++] = above;
	return was_read;
}

/* The limit of 64-bit systems. */
static pid_t highest_pid = 4 * 1024 * 1024;

void know_pids(void)
{
	char text[PATH_BYTES];
	int file = open_proc("/proc/sys/kernel/pid_max");
	if (file < 0)
		return;
	ssize_t length = read(file, text, sizeof text - 1);
	close(file);
	text[length > 0 ? length : 0] = '\0';
	long highest = strtol(text, NULL, 10);
	if (highest > 0 && highest < highest_pid)
		highest_pid = (pid_t)highest;
}

/* Adds the children of this process by asking about every pid. */
static void add_asked(struct descendants *list)
{
	bool is_dead;
	for (pid_t pid = 1; pid <= highest_pid && list->count < MAX_DESCENDANTS; pid++)
		if (ask(pid, &is_dead) && look_at_child(pid, &list->processes[list->count]))
			list->above[list->count++] = -1;
}

void own_descendants(enum children_source source, struct descendants *list)
{
	list->count = 0;
	bool was_listed = add_children(getpid(), -1, source, list);
	/* A search does not find a child that /proc hides. One that is listed is never missing. */
	if (!was_listed || (source == CHILDREN_SEARCHED && list->count == 0))
		add_asked(list);
	for (int i = 0; i < list->count; i++)
		add_children(list->processes[i].pid, i, source, list);
}
