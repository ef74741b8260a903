#include "origin.h"

#include <errno.h>
#include <unistd.h>

#include "../complain.h"
#include "../execute.h"
#include "../exit-status.h"
#include "../guard/arming.h"
#include "../guard/killing.h"

bool take_origin(struct origin *origin)
{
	origin->home = own_home();
	sigset_t all;
	sigfillset(&all);
	/* An ignored SIGCHLD would leave no children to wait for. */
	struct sigaction by_default = {.sa_handler = SIG_DFL};
	return sigaction(SIGCHLD, &by_default, &origin->at_child_end) == 0 &&
		sigprocmask(SIG_SETMASK, &all, &origin->blocked) == 0;
}

_Noreturn void become_command(const struct origin *origin, pid_t supervisor, char **command)
{
	/* In force after the exec, unless the program has another user's rights. */
	if (!die_with_parent(supervisor)) {
		complain("the kernel does not kill the command with its parent", NULL, errno);
		_exit(RUN_FAILED);
	}
	sigaction(SIGCHLD, &origin->at_child_end, NULL);
	/* Node ignores these two, and executed this program. */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &origin->blocked, NULL);
	const char *name = command[0];
	int error = execute(command);
	complain("cannot execute", name, error);
	_exit(error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}
