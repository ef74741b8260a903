#ifndef GUARD_KILL_ORDER_H
#define GUARD_KILL_ORDER_H

#include <stdbool.h>

#include "process-table.h"

/* In which order a tree of processes is killed: a pure decision.
 *
 * Leaves come first. If the killer itself is killed halfway, what is left is still one tree that the
 * next killer finds; killed from the top, the leaves would be unknown orphans. A group is killed as a
 * whole, since the kernel does that at one instant: a member that forks just then cannot escape. */

/* Whether a signal is sent to the group of a process or to the process alone. */
enum reach { REACH_PROCESS, REACH_GROUP };

/* A worker is a child of the guard, or of a preloaded parent that is one. */
enum { LEVELS = 2 };

/* One signal. */
struct step {
	const struct process *process;
	enum reach reach;
	/* The pid of the guard's child from which it descends. */
	pid_t root;
	/* Its ancestors on the two uppermost levels, the lower one first: a worker is on one of them.
	 * `NULL` where there is none. */
	const struct process *below[LEVELS];
};

/* Where the killer was started. What is in this group or session may be a stranger's: its members are signalled one by
 * one. */
struct home {
	pid_t group;
	pid_t session;
};

/* Who is signalled: everything below a guard, or all but its home session, in which the guards are
 * and children that have not left it yet. The descendants of the spared are signalled. */
enum whom { WHOM_ALL, WHOM_WORKERS };

/* Decides the signals that end these processes, in order; returns how many there are.
 *
 * `steps` has room for all of `descendants`, and refers to them. */
int kill_order(const struct descendants *descendants, const struct home *home, enum whom whom,
	struct step steps[]);

#endif
