#ifndef RUN_ORIGIN_H
#define RUN_ORIGIN_H

#include <signal.h>
#include <sys/types.h>

#include "../guard/kill-order.h"

/* What `run` was started with, and the command is started with. */
struct origin {
	struct home home;
	sigset_t blocked;
	struct sigaction at_child_end;
};

/* Remembers it, and blocks every signal from then on. False, with errno, if the kernel refuses. */
bool take_origin(struct origin *origin);

/* Becomes the command in a child of the supervisor. Never returns: without a command it ends with the status that a shell
 * has then, and says why on standard error. */
_Noreturn void become_command(const struct origin *origin, pid_t supervisor, char **command);

#endif
