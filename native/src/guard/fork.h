#ifndef GUARD_FORK_H
#define GUARD_FORK_H

#include <sys/types.h>

#include "program.h"

/* A child that is forked, armed, and held until its host has recorded it. */

/* A child between its fork and its release, as its parent sees it. */
struct held_child {
	/* Belongs to this child until it is reaped. */
	pid_t pid;
	/* A connection: the child reports on it and is released over it. */
	int link;
};

/* What a child reports. */
enum report {
	/* It is held. */
	REPORT_HELD,
	/* It could not run; with the number of the error. */
	REPORT_FAILED,
	/* Its end of the connection is closed: it runs, or is dead. */
	REPORT_CLOSED,
	/* Nothing for now. */
	REPORT_NOTHING,
};

/* Forks a child that leads its own session, dies with this process from its first instruction on,
 * and has only an empty standard input and these descriptors. Returns 0 or an error number: there
 * are no processes, descriptors or memory left.
 *
 * connections Which descriptors of this process become the child's descriptors of these numbers; -1 for none. All of
 * them are above those numbers. */
int fork_held(const struct program *program, const int connections[DESCRIPTORS],
	struct held_child *child);

/* Reads one report of a child; never blocks. */
enum report read_report(const struct held_child *child, int *error);

/* Lets the child go on. */
void release_child(const struct held_child *child);

#endif
