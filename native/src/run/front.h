#ifndef RUN_FRONT_H
#define RUN_FRONT_H

#include "parent.h"
#include "witness.h"

/* Forwards signals to the supervisor, reports the end of the parent to it, and waits for it. Ends as the command has
 * ended; returns the exit status for that. */
int run_front(const struct parent *parent, struct witness *witness, pid_t supervisor, int link);

#endif
