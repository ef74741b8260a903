#ifndef GUARD_TWINS_H
#define GUARD_TWINS_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

/* How a guard notices the end of the outer guards and of the host. */

/* If two guards are killed at the same instant, one is left. */
enum { OUTER_GUARDS = 2 };

/* Pipes whose other ends the outer guards hold, one each: a pipe closes when its guard has ended. */
struct twins {
	int count;
	int pipes[OUTER_GUARDS];
};

/* Prepares to notice the end of the host, in the outermost guard and all that it forks. False if it has ended.
 *
 * The lifeline reports it first. A copy of the host that was forked without an exec, by native code, holds the other end
 * of the lifeline as long as it lives: then a pidfd of the host reports it, or, on an old kernel, a look at the parent
 * from time to time. The kernel continues a guard that is stopped when the lifeline or its parent ends. */
bool watch_host(pid_t host);

/* The descriptors that a guard checks first: the lifeline, the host, and the pipes of the outer guards. */
enum { MAX_ALARMS = 2 + OUTER_GUARDS };

/* Adds the descriptors to wait for; returns how many were added. */
int poll_alarms(const struct twins *above, struct pollfd waiting[MAX_ALARMS]);

/* How long to wait for them before they are read again, in milliseconds; -1 for ever. */
int alarm_patience(void);

/* What these have reported. */
enum alarm { ALARM_NONE, ALARM_HOST_GONE, ALARM_TWIN_GONE };
enum alarm read_alarms(const struct twins *above, const struct pollfd waiting[MAX_ALARMS]);

/* Whether the host has ended. */
bool host_is_gone(void);

#endif
