/* The process table, read from /proc in two ways with the same result. */
#include "../../src/guard/process-table.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

static bool parses(const char *text, struct process *seen)
{
	return parse_stat(9, text, strlen(text), seen);
}

static void a_process_name_may_contain_anything(void)
{
	static const char *const names[] = {"(a)", "(a) R 1 1)", "(\xff\n) Z 0 0 0)"};
	for (size_t i = 0; i < 3; i++) {
		char text[200];
		struct process seen;
		snprintf(text, sizeof text, "9 %s R 5 6 7 0 -1 4194560 1 0 0 0 3 0 0 0 20 0 1 0 4711 1 1", names[i]);
		CHECK(parses(text, &seen));
		CHECK(seen.pid == 9 && seen.parent == 5 && seen.group == 6 && seen.session == 7);
		CHECK(seen.start == 4711 && !seen.zombie);
	}
}

static void what_has_a_thread_lives_whatever_the_state_of_its_first_one(void)
{
	static const struct {
		char state;
		int threads;
		bool is_zombie;
	} rows[] = {{'Z', 1, true}, {'Z', 2, false}, {'X', 0, true}, {'Z', 0, true}, {'R', 1, false}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[200];
		struct process seen;
		snprintf(text, sizeof text, "9 (a) %c 5 6 7 0 -1 4194560 1 0 0 0 3 0 0 0 20 0 %d 0 4711 1 1", rows[i].state,
			rows[i].threads);
		CHECK(parses(text, &seen) && seen.zombie == rows[i].is_zombie);
	}
}

static void a_cut_line_is_no_process(void)
{
	static const char *const lines[] = {"", "9 (a", "9 (a)", "9 (a) ", "9 (a) R", "9 (a) R 5", "9 (a) R x y z",
		"9 (a) R -5 6 7 0 -1 4194560 1 0 0 0 3 0 0 0 20 0 1 0 4711", "9 (a) R 5 6 7 0 -1 41 1 0 0 0 3 0 0 0 20 0 1 0"};
	struct process seen;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		CHECK(!parses(lines[i], &seen));
}

static void this_process_is_found_and_a_free_pid_is_not(void)
{
	struct process seen;
	CHECK(look(getpid(), &seen));
	CHECK(seen.parent == getppid() && seen.group == getpgrp() && seen.session == getsid(0));
	CHECK(!look(1 << 23, &seen));
}

struct list {
	int count;
	pid_t pids[64];
};

static bool note(pid_t child, void *context)
{
	struct list *list = context;
	list->pids[list->count++] = child;
	return list->count < 64;
}

static void children_are_the_same_whether_they_are_listed_or_searched(void)
{
	enum { CHILDREN = 20 };
	int ends[2];
	pid_t children[CHILDREN];
	CHECK(pipe(ends) == 0 && children_source() == CHILDREN_LISTED);
	for (int i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		CHECK(children[i] >= 0);
		if (children[i] == 0) {
			char nothing;
			close(ends[1]);
			_exit(read(ends[0], &nothing, 1) == 0 ? 0 : 1);
		}
	}
	/* One is dead, and not reaped. */
	siginfo_t end;
	kill(children[3], SIGKILL);
	CHECK(waitid(P_PID, (id_t)children[3], &end, WEXITED | WNOWAIT) == 0);
	static struct descendants below;
	for (enum children_source source = CHILDREN_LISTED; source <= CHILDREN_SEARCHED; source++) {
		struct list list = {0};
		children_of(getpid(), source, note, &list);
		CHECK(list.count == CHILDREN);
		own_descendants(source, &below);
		CHECK(below.count == CHILDREN);
		for (int i = 0; i < CHILDREN; i++) {
			bool is_found = false;
			for (int n = 0; n < below.count; n++)
				if (below.processes[n].pid == children[i]) {
					is_found = true;
					CHECK(below.above[n] == -1 && below.processes[n].zombie == (i == 3));
				}
			CHECK(is_found);
		}
	}
	close(ends[1]);
	for (int i = 0; i < CHILDREN; i++)
		CHECK(waitpid(children[i], NULL, 0) == children[i]);
}

/* As /proc with `hidepid` shows it, or none: the kernel knows its parent's children all the same. */
static void a_child_is_known_although_no_file_shows_it(void)
{
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		setsid();
		for (;;)
			pause();
	}
	while (getsid(child) != child)
		usleep(1000);
	struct rlimit before;
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	know_pids();
	CHECK(setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max}) == 0);
	struct process seen;
	static struct descendants below;
	for (int is_dead = 0; is_dead <= 1; is_dead++) {
		CHECK(!look(child, &seen));
		for (enum children_source source = CHILDREN_LISTED; source <= CHILDREN_SEARCHED; source++) {
			own_descendants(source, &below);
			CHECK(below.count == 1 && below.above[0] == -1);
			const struct process *found = &below.processes[0];
			CHECK(found->pid == child && found->parent == getpid() && found->zombie == is_dead);
			CHECK(found->group == child && found->session == child);
		}
		kill(child, SIGKILL);
		siginfo_t end;
		CHECK(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT) == 0);
	}
	CHECK(!look_at_child(getppid(), &seen) && !look_at_child(1, &seen));
	CHECK(waitpid(child, NULL, 0) == child && !look_at_child(child, &seen));
	own_descendants(CHILDREN_LISTED, &below);
	CHECK(below.count == 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

int main(void)
{
	what_has_a_thread_lives_whatever_the_state_of_its_first_one();
	a_child_is_known_although_no_file_shows_it();
	a_process_name_may_contain_anything();
	a_cut_line_is_no_process();
	this_process_is_found_and_a_free_pid_is_not();
	children_are_the_same_whether_they_are_listed_or_searched();
	return 0;
}
