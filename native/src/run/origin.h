#ifndef RUN_ORIGIN_H
#define RUN_ORIGIN_H

#include <signal.h>
#include <sys/types.h>

#include "../guard/kill-order.h"

/* The group, session and signal state of `run` at its start, which the command gets. */
struct origin {
	struct home home;
	sigset_t blocked;
	struct sigaction at_child_end;
};

/* Remembers it, and blocks every signal from then on. False, with errno, if the kernel refuses. */
bool take_origin(struct origin *origin);

/* Becomes the command in a child of the supervisor. Never returns: if the command cannot be executed, it writes the
 * reason to standard error and exits with the status that a shell would use. */
_Noreturn void become_command(const struct origin *origin, pid_t supervisor, char **command);

#endif
