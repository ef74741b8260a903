#ifndef RUN_WITNESS_H
#define RUN_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process that only receives the signals of its group.
 *
 * The kernel does not say whether a signal was sent to a process or to its whole group. It delivers a signal for the
 * group first to the members that joined last: so the witness, which the front has forked, has the signal before the
 * front sees it. */
struct witness {
	pid_t pid;
	int link;
	/* Signals that it has received and that the front has not queried yet: 1 << (number - 1). */
	uint64_t taken;
};

/* Forks the witness from the front, whose signals are blocked. False, with errno, if there is none. */
bool fork_witness(struct witness *witness);

/* Returns whether the witness has received this signal since the last query. False if the witness is lost. */
bool witnessed(struct witness *witness, int number);

/* Ends it. */
void end_witness(const struct witness *witness);

#endif
