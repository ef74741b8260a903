#ifndef GUARD_INNER_H
#define GUARD_INNER_H

#include "exit-status.h"
#include "setting.h"
#include "twins.h"

/* The inner guard, the parent of the workers: forks them, and ends them when the host or an outer guard has ended.
 * Serves until then; returns the exit status. */
int run_inner_guard(const struct setting *setting, const struct twins *above);

#endif
