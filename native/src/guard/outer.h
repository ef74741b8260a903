#ifndef GUARD_OUTER_H
#define GUARD_OUTER_H

#include <sys/types.h>

#include "setting.h"
#include "twins.h"

/* An outer guard: the parent of the next guard. Waits for the end of the host or of another guard, and kills the
 * processes that they leave; returns the exit status.
 *
 * inner   The next guard, a child of this process.
 * wakeup  See `open_wakeup`.
 * below   How many guards there are further in. */
int run_outer_guard(const struct setting *setting, pid_t inner, int wakeup, const struct twins *above,
	int below);

#endif
