/* A guard signals the process that it saw, never a later owner of its pid. All processes here are this program's. */
#include "../../src/guard/killing.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/guard/own-process.h"
#include "../check.h"

/* Ends what a failed check would leave: it dies with its parent. */
static pid_t fork_sleeper(void)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(die_with_parent(parent));
		for (;;)
			pause();
	}
	return pid;
}

static bool lives(const struct process *process)
{
	struct process seen;
	return look(process->pid, &seen) && seen.start == process->start && !seen.zombie;
}

/* Waits until this process is dead; the test's own limit of time ends it otherwise. */
static void check_dies(const struct process *process)
{
	while (lives(process))
		usleep(1000);
}

/* A child that does not reap, the leader of a group, and a member: `family[0]` is the leader. */
static pid_t start_family(struct process family[2])
{
	int ends[2];
	CHECK(pipe(ends) == 0);
	pid_t parent = fork();
	CHECK(parent >= 0);
	if (parent == 0) {
		pid_t pids[2] = {fork_sleeper()};
		setpgid(pids[0], pids[0]);
		pids[1] = fork_sleeper();
		setpgid(pids[1], pids[0]);
		CHECK(write(ends[1], pids, sizeof pids) == sizeof pids);
		for (;;)
			pause();
	}
	pid_t pids[2];
	CHECK(read(ends[0], pids, sizeof pids) == sizeof pids);
	close(ends[0]);
	close(ends[1]);
	CHECK(look(pids[0], &family[0]) && look(pids[1], &family[1]));
	return parent;
}

static void end_family(pid_t parent)
{
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
}

static void the_leader_of_a_group_that_is_not_our_child_is_killed(void)
{
	struct process family[2];
	pid_t parent = start_family(family);
	CHECK(signal_exactly(family[0].pid, family[0].start, SIGKILL, REACH_GROUP) == OUTCOME_SENT);
	check_dies(&family[0]);
	end_family(parent);
}

static void a_process_that_has_a_reused_pid_is_not_killed(void)
{
	struct process family[2];
	pid_t parent = start_family(family);
	for (enum reach reach = REACH_PROCESS; reach <= REACH_GROUP; reach++) {
		CHECK(signal_exactly(family[0].pid, family[0].start - 1, SIGKILL, reach) == OUTCOME_GONE);
		struct process other = family[0];
		other.start++;
		CHECK(send_kill(&(struct step){.process = &other, .reach = reach}) == OUTCOME_GONE);
	}
	CHECK(lives(&family[0]) && lives(&family[1]));
	end_family(parent);
}

static void the_first_process_and_what_is_no_process_get_no_signal(void)
{
	static const pid_t pids[] = {1, 0, -1, -2};
	for (size_t i = 0; i < sizeof pids / sizeof *pids; i++) {
		struct process process = {.pid = pids[i], .parent = getpid(), .group = pids[i]};
		CHECK(signal_exactly(pids[i], 0, SIGKILL, REACH_GROUP) == OUTCOME_GONE);
		CHECK(send_kill(&(struct step){.process = &process, .reach = REACH_GROUP}) == OUTCOME_GONE);
	}
}

static void count(const struct step *step, void *context)
{
	*(int *)context += step != NULL;
}

/* A child that has ended and was not reaped, and one that it left in its group. This process is no subreaper: only the
 * group reaches the one that is left. */
static void the_group_of_a_dead_child_is_killed_before_the_child_is_reaped(int wakeup)
{
	int ends[2];
	CHECK(pipe(ends) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		setsid();
		pid_t member = fork();
		if (member == 0)
			for (;;)
				pause();
		_exit(write(ends[1], &member, sizeof member) == sizeof member ? 0 : 1);
	}
	pid_t pid;
	siginfo_t end;
	struct process member;
	CHECK(read(ends[0], &pid, sizeof pid) == sizeof pid);
	CHECK(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT) == 0);
	CHECK(look(pid, &member) && lives(&member));
	int killed = 0;
	struct home home = own_home();
	CHECK(kill_until_none(wakeup, WHOM_ALL, &home, count, &killed) == 0);
	CHECK(killed == 0);
	check_dies(&member);
	close(ends[0]);
	close(ends[1]);
}

/* Children, and children of theirs in other groups and sessions, each reported once. */
static void every_descendant_is_killed_and_reported_once(int wakeup)
{
	enum { CHILDREN = 5 };
	int ends[2];
	CHECK(pipe(ends) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();
		CHECK(child >= 0);
		if (child == 0) {
			setsid();
			pid_t daemon = fork();
			if (daemon == 0)
				setsid();
			CHECK(write(ends[1], "", 1) == 1);
			for (;;)
				pause();
		}
	}
	char byte;
	for (int i = 0; i < 2 * CHILDREN; i++)
		CHECK(read(ends[0], &byte, 1) == 1);
	int killed = 0;
	struct home home = own_home();
	CHECK(kill_until_none(wakeup, WHOM_ALL, &home, count, &killed) == 0);
	CHECK(killed == 2 * CHILDREN);
	CHECK(waitpid(-1, NULL, 0) == -1);
	CHECK(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
	close(ends[0]);
	close(ends[1]);
}

/* Everything that /proc would say needs a descriptor. What leads its session, and what forked it, is found in turn. */
static void everything_is_killed_without_a_descriptor(int wakeup)
{
	int ends[2];
	CHECK(pipe(ends) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		pid_t daemon = fork();
		if (daemon == 0)
			setsid();
		CHECK(write(ends[1], "", 1) == 1);
		for (;;)
			pause();
	}
	char byte;
	for (int i = 0; i < 2; i++)
		CHECK(read(ends[0], &byte, 1) == 1);
	close(ends[0]);
	close(ends[1]);
	struct rlimit before;
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max}) == 0);
	int killed = 0;
	struct home home = own_home();
	CHECK(kill_until_none(wakeup, WHOM_ALL, &home, count, &killed) == 0);
	CHECK(killed == 2);
	CHECK(waitpid(-1, NULL, 0) == -1);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0 && prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
}

/* Its first thread is gone, which is all that the state in /proc says. */
static void *run_on(void *argument)
{
	CHECK(write(*(int *)argument, "", 1) == 1);
	for (;;)
		pause();
}

static void a_process_whose_first_thread_has_ended_is_killed(int wakeup)
{
	int ends[2];
	CHECK(pipe(ends) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		pthread_t other;
		setsid();
		CHECK(pthread_create(&other, NULL, run_on, &ends[1]) == 0);
		syscall(SYS_exit, 0);
	}
	char byte;
	CHECK(read(ends[0], &byte, 1) == 1);
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
	for (char state = 'R'; state != 'Z';) {
		FILE *file = fopen(path, "r");
		CHECK(file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
		fclose(file);
	}
	int killed = 0;
	struct home home = own_home();
	CHECK(kill_until_none(wakeup, WHOM_ALL, &home, count, &killed) == 0);
	CHECK(killed == 1);
	close(ends[0]);
	close(ends[1]);
}

/* Where a lower limit makes poll refuse. */
static void an_end_is_noticed_with_any_limit_of_descriptors(void)
{
	int ends[2];
	struct rlimit before;
	CHECK(pipe(ends) == 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
	for (rlim_t limit = 0; limit <= 64; limit += 64) {
		struct pollfd waiting[] = {{.fd = -1}, {.fd = ends[0], .events = POLLIN}};
		CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = limit, .rlim_max = before.rlim_max}) == 0);
		CHECK(wait_for(waiting, 2, 0) == 0 && waiting[1].revents == 0);
		CHECK(wait_for(waiting, 2, 1) == 0 && waiting[1].revents == 0);
		if (limit == 64)
			close(ends[1]);
		else
			CHECK(write(ends[1], "", 1) == 1);
		CHECK(wait_for(waiting, 2, -1) == 1 && waiting[1].revents != 0 && waiting[0].revents == 0);
		char byte;
		CHECK(read(ends[0], &byte, 1) == (limit == 0));
	}
	close(ends[0]);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

int main(void)
{
	/* So that no group of ours is another's. */
	setpgid(0, 0);
	int wakeup = open_wakeup();
	CHECK(wakeup >= 0);
	the_leader_of_a_group_that_is_not_our_child_is_killed();
	a_process_that_has_a_reused_pid_is_not_killed();
	the_first_process_and_what_is_no_process_get_no_signal();
	the_group_of_a_dead_child_is_killed_before_the_child_is_reaped(wakeup);
	every_descendant_is_killed_and_reported_once(wakeup);
	everything_is_killed_without_a_descriptor(wakeup);
	a_process_whose_first_thread_has_ended_is_killed(wakeup);
	an_end_is_noticed_with_any_limit_of_descriptors();
	return 0;
}
