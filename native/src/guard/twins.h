#ifndef GUARD_TWINS_H
#define GUARD_TWINS_H

#include <poll.h>
#include <stdbool.h>

/* How a guard notices the end of the outer guards and of the host. */

/* If two guards are killed at the same instant, one is left. */
enum { OUTER_GUARDS = 2 };

/* Pipes whose other ends the outer guards hold, one each: a pipe closes when its guard has ended. */
struct twins {
	int count;
	int pipes[OUTER_GUARDS];
};

/* The descriptors that a guard checks first: the lifeline, and the pipes of the outer guards. */
enum { MAX_ALARMS = 1 + OUTER_GUARDS };

/* Adds the descriptors to wait for; returns how many were added. */
int poll_alarms(const struct twins *above, struct pollfd waiting[MAX_ALARMS]);

/* What these have reported. */
enum alarm { ALARM_NONE, ALARM_HOST_GONE, ALARM_TWIN_GONE };
enum alarm read_alarms(const struct twins *above, const struct pollfd waiting[MAX_ALARMS]);

/* Whether the host has ended. */
bool host_is_gone(void);

#endif
