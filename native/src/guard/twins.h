#ifndef GUARD_TWINS_H
#define GUARD_TWINS_H

#include <poll.h>
#include <stdbool.h>

/* How a guard notices the end of those further out, and of the host. */

/* If two guards are killed at the same instant, one is left. */
enum { OUTER_GUARDS = 2 };

/* Pipes whose other ends are held by the guards further out, one by each: closed when it is gone. */
struct twins {
	int count;
	int pipes[OUTER_GUARDS];
};

/* What a guard waits for first: the lifeline, and those further out. */
enum { MAX_ALARMS = 1 + OUTER_GUARDS };

/* Adds what is to be waited for; returns how many were added. */
int poll_alarms(const struct twins *above, struct pollfd waiting[MAX_ALARMS]);

/* What these have reported. */
enum alarm { ALARM_NONE, ALARM_HOST_GONE, ALARM_TWIN_GONE };
enum alarm read_alarms(const struct twins *above, const struct pollfd waiting[MAX_ALARMS]);

/* Whether the host is gone now. */
bool host_is_gone(void);

#endif
