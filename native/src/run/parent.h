#ifndef RUN_PARENT_H
#define RUN_PARENT_H

#include <stdbool.h>
#include <sys/types.h>

/* A process that is a parent of this one, or was. */
struct parent {
	pid_t pid;
	/* Readable when it has ended; -1 if the kernel has no pidfd. */
	int reference;
};

/* Reads the parent. False if it ended meanwhile. */
bool know_parent(struct parent *parent);

/* Whether the parent has ended. Without a reference, only its child can find out: `is_child` says whether this process
 * is one. */
bool parent_has_ended(const struct parent *parent, bool is_child);

/* Sends a signal to the parent, of which this process is a child. Never to a later owner of its pid. */
void signal_parent(const struct parent *parent, int number);

#endif
