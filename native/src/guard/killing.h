#ifndef GUARD_KILLING_H
#define GUARD_KILLING_H

#include <stdbool.h>

#include "kill-order.h"

/* The outcome of a signal. `REFUSED`: the process belongs to another user. */
enum outcome { OUTCOME_SENT, OUTCOME_GONE, OUTCOME_REFUSED };

/* The group and the session of this process. */
struct home own_home(void);

/* Sends SIGTERM to every descendant, parents first, and SIGCONT, so that one that is stopped can end. Returns how many
 * live. */
int terminate_all(void);

/* Kills every descendant of this process, and reaps those that become its children.
 *
 * Returns only when the kernel reports that no child is left, however long a process is stuck in the kernel, or when
 * the rest belongs to another user and may not be signalled. With `WHOM_WORKERS` it returns when nothing but guards
 * lives.
 *
 * wakeup  see `open_wakeup`.
 * home    see `struct home`; a killer may have left it.
 * killed  called with each process that was sent SIGKILL, once for each; at the end of each round
 *         with NULL.
 *
 * Returns how many processes of another user are left: 0 unless a program changed users. */
int kill_until_none(int wakeup, enum whom whom, const struct home *home,
	void (*killed)(const struct step *step, void *context), void *context);

/* Reaps every child that is dead, after it has killed the group that each of them left, if it is not
 * in the home; returns whether there is no child left, dead or alive. */
bool reap_all(const struct home *home);

/* Sends one signal of an order to the process that was seen, never to a later owner of its pid. */
enum outcome send_kill(const struct step *step);

/* Sends a signal to a process that is not our child, but never to a later owner of its pid.
 *
 * reach  `REACH_GROUP` to kill the group that it leads, if the kernel can signal a group by its
 *        leader's pidfd (Linux 6.9). Otherwise the members are found and killed one by one. */
enum outcome signal_exactly(pid_t pid, unsigned long long start, int number, enum reach reach);

#endif
