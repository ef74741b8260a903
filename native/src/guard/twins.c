#include "twins.h"

#include "setting.h"

enum { GONE = POLLHUP | POLLERR | POLLNVAL | POLLRDHUP };

int poll_alarms(const struct twins *above, struct pollfd waiting[MAX_ALARMS])
{
	waiting[0] = (struct pollfd){.fd = LIFELINE, .events = POLLRDHUP};
	for (int i = 0; i < above->count; i++)
		waiting[1 + i] = (struct pollfd){.fd = above->pipes[i]};
	return 1 + above->count;
}

enum alarm read_alarms(const struct twins *above, const struct pollfd waiting[MAX_ALARMS])
{
	if ((waiting[0].revents & GONE) != 0)
		return ALARM_HOST_GONE;
	for (int i = 0; i < above->count; i++)
		if ((waiting[1 + i].revents & GONE) != 0)
			return ALARM_TWIN_GONE;
	return ALARM_NONE;
}

bool host_is_gone(void)
{
	struct pollfd lifeline = {.fd = LIFELINE, .events = POLLRDHUP};
	return poll(&lifeline, 1, 0) > 0 && (lifeline.revents & GONE) != 0;
}
