/* The order in which a tree is killed: leaves first, groups whole, no stranger. */
#include <stdbool.h>
#include <string.h>

#include "../../src/guard/kill-order.h"
#include "../check.h"

static const struct home home = {.group = 10, .session = 10};
static struct descendants tree;
static struct step steps[MAX_DESCENDANTS];

/* Adds a process below the one with the pid `parent`; returns it. */
static struct process *below(pid_t pid, pid_t parent, pid_t group)
{
	int above = -1;
	for (int i = 0; i < tree.count; i++)
		if (tree.processes[i].pid == parent)
			above = i;
	struct process *process = &tree.processes[tree.count];
	*process = (struct process){.pid = pid, .parent = parent, .group = group, .session = group,
		.start = (unsigned long long)pid};
	tree.above[tree.count++] = above;
	return process;
}

/* Whether the order is this: a reach, a pid and a root for each step. */
static bool is_order(enum whom whom, int count, const int expected[][3])
{
	if (kill_order(&tree, &home, whom, steps) != count)
		return false;
	for (int i = 0; i < count; i++)
		if ((int)steps[i].reach != expected[i][0] || steps[i].process->pid != expected[i][1] ||
			steps[i].root != expected[i][2])
			return false;
	return true;
}

static void leaves_come_before_their_ancestors(void)
{
	tree.count = 0;
	below(20, 10, 20);
	below(21, 20, 20);
	below(22, 21, 20);
	static const int order[][3] = {{REACH_PROCESS, 22, 20}, {REACH_PROCESS, 21, 20}, {REACH_GROUP, 20, 20}};
	CHECK(is_order(WHOM_ALL, 3, order));
}

static void a_daemon_dies_before_the_worker_that_started_it(void)
{
	tree.count = 0;
	below(20, 10, 20);
	below(21, 20, 20);
	below(30, 20, 30);
	static const int order[][3] = {{REACH_GROUP, 30, 20}, {REACH_PROCESS, 21, 20}, {REACH_GROUP, 20, 20}};
	CHECK(is_order(WHOM_ALL, 3, order));
}

static void a_group_whose_leader_is_dead_is_killed_through_its_other_members(void)
{
	tree.count = 0;
	below(20, 10, 20)->zombie = true;
	below(21, 10, 20);
	static const int order[][3] = {{REACH_GROUP, 21, 21}};
	CHECK(is_order(WHOM_ALL, 1, order));
}

static void the_ancestors_on_the_uppermost_levels_are_named(void)
{
	tree.count = 0;
	below(20, 10, 20);
	below(30, 20, 30);
	below(31, 30, 30);
	below(32, 31, 30);
	CHECK(kill_order(&tree, &home, WHOM_ALL, steps) == 4);
	static const pid_t named[4][2] = {{30, 20}, {30, 20}, {20, 0}, {0, 0}};
	for (int i = 0; i < 4; i++)
		for (int level = 0; level < LEVELS; level++) {
			const struct process *ancestor = steps[i].below[level];
			CHECK((ancestor == NULL ? 0 : ancestor->pid) == named[i][level]);
		}
}

static void guards_further_in_do_not_count_as_ancestors(void)
{
	tree.count = 0;
	below(11, 10, 10);
	below(12, 11, 10);
	below(20, 12, 20);
	below(21, 20, 20);
	CHECK(kill_order(&tree, &home, WHOM_ALL, steps) == 4);
	CHECK(steps[0].process->pid == 21 && steps[0].below[0]->pid == 20 && steps[0].below[1] == NULL);
	CHECK(steps[1].process->pid == 20 && steps[1].below[0] == NULL);
}

static void the_guards_own_group_and_session_are_never_signalled(void)
{
	tree.count = 0;
	below(11, 10, home.group);
	below(12, 10, home.group);
	below(13, 10, 13)->session = home.session;
	CHECK(kill_order(&tree, &home, WHOM_ALL, steps) == 3);
	for (int i = 0; i < 3; i++)
		CHECK(steps[i].reach == REACH_PROCESS);
}

static void a_spared_guard_gets_no_signal_but_its_descendants_do(void)
{
	tree.count = 0;
	below(11, 10, home.group);
	below(20, 11, 20);
	static const int order[][3] = {{REACH_GROUP, 20, 11}};
	CHECK(is_order(WHOM_WORKERS, 1, order));
}

/* A tree of up to 12 processes, by level, some in the groups of others. */
static void grow(unsigned int *seed)
{
	tree.count = 0;
	int level = 0, end = 0;
	for (unsigned int left = chance(seed, 13); left > 0; left--) {
		/* Each level begins where the one before ends. */
		if (tree.count > end && chance(seed, 3) == 0) {
			level = end;
			end = tree.count;
		}
		pid_t parent = end == 0 ? home.group : tree.processes[level + (int)chance(seed, (unsigned int)(end - level))].pid;
		pid_t pid = 100 + tree.count;
		unsigned int kind = chance(seed, 3);
		pid_t group = kind == 0 || tree.count == 0 ? pid
			: kind == 1 ? home.group : tree.processes[chance(seed, (unsigned int)tree.count)].group;
		below(pid, parent, group)->zombie = chance(seed, 2) == 0;
	}
}

static int place_of(pid_t pid, int count)
{
	for (int i = 0; i < count; i++)
		if (steps[i].process->pid == pid)
			return i;
	return -1;
}

static void check_order(void)
{
	int count = kill_order(&tree, &home, WHOM_ALL, steps);
	int living = 0;
	for (int i = 0; i < tree.count; i++) {
		const struct process *process = &tree.processes[i];
		int place = place_of(process->pid, count);
		living += !process->zombie;
		CHECK((place >= 0) == !process->zombie);
		if (place >= 0)
			CHECK(place_of(process->parent, count) == -1 || place < place_of(process->parent, count));
		/* Its group is signalled once, if it is not the guard's. */
		int signals = 0;
		for (int n = 0; n < count; n++)
			signals += steps[n].reach == REACH_GROUP && steps[n].process->group == process->group;
		if (process->group == home.group)
			CHECK(signals == 0);
		else if (!process->zombie)
			CHECK(signals == 1);
	}
	CHECK(count == living);
}

int main(void)
{
	leaves_come_before_their_ancestors();
	a_daemon_dies_before_the_worker_that_started_it();
	a_group_whose_leader_is_dead_is_killed_through_its_other_members();
	the_ancestors_on_the_uppermost_levels_are_named();
	guards_further_in_do_not_count_as_ancestors();
	the_guards_own_group_and_session_are_never_signalled();
	a_spared_guard_gets_no_signal_but_its_descendants_do();
	unsigned int seed = 5;
	for (int i = 0; i < 20000; i++) {
		grow(&seed);
		check_order();
	}
	return 0;
}
