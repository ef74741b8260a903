#ifndef GUARD_PROCESS_TABLE_H
#define GUARD_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Calls `found` with each entry of a directory whose name is a positive number, until it returns
 * false. Allocates nothing, as `opendir` would. A directory that cannot be read has no entries. */
void for_each_number(const char *path, bool (*found)(long number, void *context), void *context);

/* The descendants of a process, from /proc. A process that ends between two reads is left out. Nothing here allocates
 * memory. */

/* One process as it was seen. */
struct process {
	pid_t pid;
	pid_t parent;
	pid_t group;
	pid_t session;
	/* Clock ticks since boot; with the pid it identifies the process. */
	unsigned long long start;
	/* It is dead and not yet reaped. A process whose first thread has ended is in the same state, and lives as long as
	 * another thread of it does. */
	bool zombie;
};

enum { MAX_DESCENDANTS = 4096 };

/* Descendants by level: parents before their children, and no child before all of its parent's level. */
struct descendants {
	int count;
	struct process processes[MAX_DESCENDANTS];
	/* The place of the parent in this list; -1 for a child of the process itself. */
	int above[MAX_DESCENDANTS];
};

/* Reads one process; false if there is none, or /proc does not show it: where it is mounted with `hidepid`, it hides
 * each process that this one may not trace, and be it a child. */
bool look(pid_t pid, struct process *seen);

/* The same for a child of this process, which the kernel describes also if /proc does not show it: then without its
 * start time. */
bool look_at_child(pid_t pid, struct process *seen);

/* Parses `/proc/PID/stat`; false if it is cut or damaged. */
bool parse_stat(pid_t pid, const char *text, size_t length, struct process *seen);

/* Where the children of a process come from: `listed` by the kernel, or `searched` in all of /proc. */
enum children_source { CHILDREN_LISTED, CHILDREN_SEARCHED };

/* Whether the kernel lists children. */
enum children_source children_source(void);

/* Calls `found` with the pid of each child of a process, zombies included, until it returns false. Returns whether the
 * children could be read. */
bool children_of(pid_t pid, enum children_source source, bool (*found)(pid_t child, void *context),
	void *context);

/* Finds the descendants of this process: the first `MAX_DESCENDANTS` of them. If /proc shows no child, each pid is
 * tried: the kernel answers a question about a child, and only about a child. Those below a child are then found when
 * they have become children, at the child's end. */
void own_descendants(enum children_source source, struct descendants *list);

/* Learns how far pids go. To be called while files can be opened. */
void know_pids(void);

#endif
