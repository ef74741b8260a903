#include "twins.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "arming.h"
#include "setting.h"
#include "wakeup.h"

enum { GONE = POLLHUP | POLLERR | POLLNVAL | POLLRDHUP };
/* How often the parent is checked on an old kernel. */
enum { PARENT_PAUSE_MS = 500 };
/* The places of the alarms. */
enum { OF_LIFELINE, OF_HOST, OF_PIPES };

/* Static, since a process has one host. The reference is -1 if the kernel has no pidfd. */
static pid_t host;
static pid_t child_of_host;
static int reference = -1;

bool watch_host(pid_t pid)
{
	host = pid;
	child_of_host = getpid();
	continue_at_end(LIFELINE);
	/* Linux 5.3. 0 is a parent outside of this pid namespace, which nothing can refer to. */
	if (pid > 0)
		reference = (int)syscall(SYS_pidfd_open, pid, 0);
	/* It is still the parent, so it was not reaped, and the reference is not to a later owner of its pid. */
	return getppid() == pid;
}

int poll_alarms(const struct twins *above, struct pollfd waiting[MAX_ALARMS])
{
	waiting[OF_LIFELINE] = (struct pollfd){.fd = LIFELINE, .events = POLLRDHUP};
	waiting[OF_HOST] = (struct pollfd){.fd = reference, .events = POLLIN};
	for (int i = 0; i < above->count; i++)
		waiting[OF_PIPES + i] = (struct pollfd){.fd = above->pipes[i]};
	return OF_PIPES + above->count;
}

static bool has_lost_its_parent(void)
{
	return reference < 0 && getpid() == child_of_host && getppid() != host;
}

int alarm_patience(void)
{
	return reference < 0 && getpid() == child_of_host ? PARENT_PAUSE_MS : -1;
}

enum alarm read_alarms(const struct twins *above, const struct pollfd waiting[MAX_ALARMS])
{
	if ((waiting[OF_LIFELINE].revents & GONE) != 0 || waiting[OF_HOST].revents != 0 || has_lost_its_parent())
		return ALARM_HOST_GONE;
	for (int i = 0; i < above->count; i++)
		if ((waiting[OF_PIPES + i].revents & GONE) != 0)
			return ALARM_TWIN_GONE;
	return ALARM_NONE;
}

bool host_is_gone(void)
{
	static const struct twins none;
	struct pollfd waiting[MAX_ALARMS];
	wait_for(waiting, poll_alarms(&none, waiting), 0);
	return read_alarms(&none, waiting) == ALARM_HOST_GONE;
}
