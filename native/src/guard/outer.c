#include "guard.h"

#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "incidents.h"
#include "killing.h"
#include "own-process.h"

/* The inner guard knows the workers, and two guards that kill at once only compete for the processor.
 * If the inner one is stopped or stuck, it does not finish in this time. Each guard further out waits
 * longer by the same amount. */
enum { INNER_LIMIT_MS = 100 };
/* Exit statuses are from 0 to 255. */
enum { STILL_RUNS = -1, WAS_KILLED = 256 };

static void note_host_death(void)
{
	if (host_is_gone())
		record_host_death();
}

/* Returns the next guard's exit status, `WAS_KILLED`, or `STILL_RUNS` if it does not end in this
 * time. */
static int status_of(pid_t inner, int wakeup, int limit_ms)
{
	long long until = now_ms() + limit_ms;
	for (;;) {
		clear_wakeup(wakeup);
		int status;
		if (waitpid(inner, &status, WNOHANG) == inner)
			return WIFEXITED(status) ? WEXITSTATUS(status) : WAS_KILLED;
		long long left = until - now_ms();
		if (left <= 0)
			return STILL_RUNS;
		wait_for_child(wakeup, (int)left);
	}
}

/* Returns whether the guards further in end in this time, now that they have nothing left to do: each
 * of them records best what it did. */
static bool is_alone(const struct home *home, int wakeup, int limit_ms)
{
	long long until = now_ms() + limit_ms;
	while (!reap_all(home)) {
		long long left = until - now_ms();
		if (left <= 0)
			return false;
		wait_for_child(wakeup, (int)left);
	}
	return true;
}

static void killed(const struct step *step, void *context)
{
	const struct home *home = context;
	if (step == NULL)
		write_incidents();
	else if (step->process->session != home->session) /* No guard is a process of the run. */
		record_kill(step, NULL);
}

/* Describes the end of the next guard, if it did not end as it should. */
static int loss_of(int inner_status, int below)
{
	if (host_death_is_recorded())
		return STATUS_HOST_GONE;
	if (inner_status != WAS_KILLED)
		return STATUS_GUARD_GONE;
	return below == 1 ? STATUS_INNER_LOST : STATUS_MIDDLE_LOST;
}

static int leave(int inner_status, int wakeup, int below)
{
	struct home home = own_home();
	int limit_ms = INNER_LIMIT_MS * below;
	note_host_death();
	kill_until_none(wakeup, WHOM_WORKERS, &home, killed, &home);
	if (!is_alone(&home, wakeup, limit_ms))
		kill_until_none(wakeup, WHOM_ALL, &home, killed, &home);
	if (inner_status != STILL_RUNS && inner_status != WAS_KILLED && inner_status != STATUS_FAILED)
		return inner_status;
	note_host_death();
	record_settled();
	return loss_of(inner_status, below);
}

int run_outer_guard(const struct setting *setting, pid_t inner, int wakeup, const struct guard_pair *above,
	int below)
{
	open_incidents(setting);
	for (;;) {
		struct pollfd waiting[MAX_ALARMS + 1];
		int count = poll_alarms(above, waiting);
		waiting[count] = (struct pollfd){.fd = wakeup, .events = POLLIN};
		if (wait_for(waiting, count + 1, alarm_interval_ms()) < 0)
			continue;
		bool is_over = read_alarms(above, waiting) != ALARM_NONE;
		if (is_over)
			note_host_death();
		int status = status_of(inner, wakeup, is_over ? INNER_LIMIT_MS * below : 0);
		if (status != STILL_RUNS || is_over)
			return leave(status, wakeup, below);
	}
}
