#ifndef GUARD_KILL_ORDER_H
#define GUARD_KILL_ORDER_H

#include <stdbool.h>

#include "process-table.h"

/* The order in which a tree of processes is killed: a pure decision.
 *
 * Leaves come first. If the killer itself is killed halfway, the rest is still one tree that the next killer finds. If
 * it killed from the top, the leaves would be unknown orphans. A group is killed as a whole, because the kernel does
 * that at one instant: a member that forks just then cannot escape. */

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

/* Where the killer was started. This group or session may also contain foreign processes, so its members are signalled
 * one by one. */
struct home {
	pid_t group;
	pid_t session;
};

/* Which processes are signalled: everything below a guard, or all except its home session, which contains the guards
 * and children that have not left it yet. Descendants of spared processes are signalled. */
enum whom { WHOM_ALL, WHOM_WORKERS };

/* Decides the signals that end these processes, in order; returns how many there are.
 *
 * `steps` has room for all of `descendants`, and refers to them. */
int kill_order(const struct descendants *descendants, const struct home *home, enum whom whom,
	struct step steps[]);

#endif
