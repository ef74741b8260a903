#ifndef RUN_WITNESS_H
#define RUN_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process that does nothing but get the signals of its group.
 *
 * The kernel does not say whether a signal was sent to a process or to its whole group. It delivers one for the group to
 * those members first that joined last: so the witness, which the front has forked, has it when the front sees it. */
struct witness {
	pid_t pid;
	int link;
	/* Signals that it has got and the front has not asked for yet: 1 << (number - 1). */
	uint64_t taken;
};

/* Forks the witness from the front, whose signals are blocked. False, with errno, if there is none. */
bool fork_witness(struct witness *witness);

/* Returns whether the witness has got this signal since it was last asked. False if it is lost. */
bool witnessed(struct witness *witness, int number);

/* Ends it. */
void end_witness(const struct witness *witness);

#endif
