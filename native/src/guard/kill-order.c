#include "kill-order.h"

#include <stddef.h>

static bool lives(const struct process *process, const struct home *home, enum whom whom)
{
	return !process->zombie && (whom == WHOM_ALL || process->session != home->session);
}

/* Whether it is the first living member of its group in the list. */
static bool heads_group(const struct descendants *list, int place, const struct home *home,
	enum whom whom)
{
	const struct process *process = &list->processes[place];
	if (process->group == home->group || process->session == home->session)
		return false;
	for (int i = 0; i < place; i++) {
		const struct process *other = &list->processes[i];
		if (other->group == process->group && lives(other, home, whom))
			return false;
	}
	return true;
}

/* Finds the root of a process, and its ancestors on the uppermost levels. */
static void place_below(const struct descendants *list, int place, const struct home *home,
	struct step *step)
{
	const struct process *lower = NULL;
	const struct process *upper = NULL;
	step->root = list->processes[place].pid;
	for (int i = list->above[place]; i >= 0; i = list->above[i]) {
		const struct process *ancestor = &list->processes[i];
		step->root = ancestor->pid;
		/* Guards are descendants of guards, in one session; they are no level of workers. */
		if (ancestor->session == home->session)
			continue;
		lower = upper;
		upper = ancestor;
	}
	step->below[0] = lower != NULL ? lower : upper;
	step->below[1] = lower != NULL ? upper : NULL;
}

int kill_order(const struct descendants *descendants, const struct home *home, enum whom whom,
	struct step steps[])
{
	int count = 0;
	/* The list is by level: backwards, the deepest come first, and of one level the youngest. */
	for (int i = descendants->count - 1; i >= 0; i--) {
		const struct process *process = &descendants->processes[i];
		if (!lives(process, home, whom))
			continue;
		struct step *step = &steps[count++];
		step->process = process;
		step->reach = heads_group(descendants, i, home, whom) ? REACH_GROUP : REACH_PROCESS;
		place_below(descendants, i, home, step);
	}
	return count;
}
