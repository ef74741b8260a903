#include "killing.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own-process.h"

/* The pauses grow while no new process appears and the killed ones are stuck in the kernel. */
enum { FIRST_PAUSE_MS = 1, LAST_PAUSE_MS = 1000 };
/* PIDFD_SIGNAL_PROCESS_GROUP of linux/pidfd.h. */
enum { PROCESS_GROUP = 1 << 2 };
/* The pids that were reported. If a fork loop leaves more, some are counted twice. */
enum { MAX_REPORTED = 16384 };

/* Static, because nothing may fail here for lack of memory. Unused pages cost nothing. */
static struct descendants found;
static struct step steps[MAX_DESCENDANTS];
static struct identity {
	pid_t pid;
	unsigned long long start;
} reported[MAX_REPORTED];
static int reported_count;

static enum outcome outcome_of(long result)
{
	if (result == 0)
		return OUTCOME_SENT;
	return errno == EPERM ? OUTCOME_REFUSED : OUTCOME_GONE;
}

static enum outcome kill_group(pid_t group)
{
	/* kill(2) gives 0 and -1 another meaning than one group. */
	return group > 1 ? outcome_of(kill(-group, SIGKILL)) : OUTCOME_GONE;
}

static bool is_still(pid_t pid, unsigned long long start)
{
	struct process seen;
	return look(pid, &seen) && seen.start == start;
}

enum outcome signal_exactly(pid_t pid, unsigned long long start, int number, enum reach reach)
{
	if (pid <= 1)
		return OUTCOME_GONE;
	int reference = (int)syscall(SYS_pidfd_open, pid, 0);
	if (reference < 0 && errno == ESRCH)
		return OUTCOME_GONE;
	if (reference < 0) /* An old kernel, or no descriptor: then a check directly before the signal is the best possible. */
		return is_still(pid, start) ? outcome_of(kill(pid, number)) : OUTCOME_GONE;
	/* The pidfd refers to one process for ever. If the start time matches now, it is the right one. */
	enum outcome outcome = OUTCOME_GONE;
	if (is_still(pid, start)) {
		if (reach == REACH_GROUP) /* An old kernel does not know this flag. */
			syscall(SYS_pidfd_send_signal, reference, number, NULL, PROCESS_GROUP);
		outcome = outcome_of(syscall(SYS_pidfd_send_signal, reference, number, NULL, 0));
	}
	close(reference);
	return outcome;
}

enum outcome send_kill(const struct step *step)
{
	const struct process *process = step->process;
	bool leads = process->group == process->pid && step->reach == REACH_GROUP;
	if (process->pid <= 1)
		return OUTCOME_GONE;
	if (process->parent != getpid())
		return signal_exactly(process->pid, process->start, SIGKILL,
			leads ? REACH_GROUP : REACH_PROCESS);
	/* A child keeps its pid until this process reaps it, which does not happen in between. */
	return leads ? kill_group(process->pid) : outcome_of(kill(process->pid, SIGKILL));
}

struct home own_home(void)
{
	return (struct home){.group = getpgrp(), .session = getsid(0)};
}

int terminate_all(void)
{
	pid_t self = getpid();
	int count = 0;
	own_descendants(children_source(), &found);
	for (int i = 0; i < found.count; i++) {
		const struct process *process = &found.processes[i];
		count += !process->zombie;
		static const int numbers[] = {SIGTERM, SIGCONT};
		for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
			if (process->parent == self)
				kill(process->pid, numbers[n]);
			else
				signal_exactly(process->pid, process->start, numbers[n], REACH_PROCESS);
	}
	return count;
}

bool reap_all(const struct home *home)
{
	for (;;) {
		siginfo_t end = {0};
		if (waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) != 0) {
			if (errno == EINTR)
				continue;
			return errno == ECHILD;
		}
		if (end.si_pid == 0)
			return false;
		/* A dead child cannot leave its group, and until it is reaped no other group can have its
		 * number: so everything in the group descends from this process. */
		pid_t group = getpgid(end.si_pid);
		if (getsid(end.si_pid) != home->session && group != home->group)
			kill_group(group);
		waitpid(end.si_pid, NULL, WNOHANG);
	}
}

static bool is_first_time(const struct process *process)
{
	for (int i = 0; i < reported_count; i++)
		if (reported[i].pid == process->pid && reported[i].start == process->start)
			return false;
	if (reported_count < MAX_REPORTED)
		reported[reported_count++] =
			(struct identity){.pid = process->pid, .start = process->start};
	return true;
}

int kill_until_none(int wakeup, enum whom whom, const struct home *home,
	void (*killed)(const struct step *step, void *context), void *context)
{
	enum children_source source = children_source();
	int pause = FIRST_PAUSE_MS;
	while (!reap_all(home)) {
		own_descendants(source, &found);
		int count = kill_order(&found, home, whom, steps);
		if (count == 0 && whom == WHOM_WORKERS)
			return 0;
		int refused = 0;
		bool is_fresh = false;
		for (int i = 0; i < count; i++) {
			enum outcome outcome = send_kill(&steps[i]);
			if (outcome == OUTCOME_REFUSED)
				refused++;
			if (outcome == OUTCOME_SENT && is_first_time(steps[i].process)) {
				is_fresh = true;
				killed(&steps[i], context);
			}
		}
		if (is_fresh)
			killed(NULL, context);
		if (count > 0 && refused == count)
			return refused;
		pause = is_fresh ? FIRST_PAUSE_MS : pause * 2;
		wait_for_child(wakeup, pause = pause < LAST_PAUSE_MS ? pause : LAST_PAUSE_MS);
	}
	return 0;
}
