#include "run.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "../complain.h"
#include "../exit-status.h"
#include "../guard/arming.h"
#include "../guard/process-table.h"
#include "front.h"
#include "link.h"
#include "supervisor.h"

static int fail(const char *what)
{
	complain(what, NULL, errno);
	return RUN_FAILED;
}

int run(int count, char **arguments)
{
	struct request request;
	struct origin origin;
	struct parent parent;
	struct witness witness;
	int ends[2];
	struct misspelling wrong;
	if (!parse_run(count, arguments, &request, &wrong)) {
		advise(wrong.what, wrong.argument, wrong.remedy);
		return RUN_MISSPELT;
	}
	if (!know_parent(&parent)) {
		complain("the parent ended before the command was started", NULL, 0);
		return RUN_FAILED;
	}
	if (!take_origin(&origin) || !become_subreaper())
		return fail("what the command leaves could not be found");
	/* Before the command is started, so that the witness gets every signal that the command gets. */
	if (!open_link(ends) || !fork_witness(&witness))
		return fail("cannot start");
	know_pids();
	pid_t supervisor = fork();
	if (supervisor < 0)
		return fail("cannot fork");
	if (supervisor == 0) {
		close(ends[0]);
		_exit(supervise(&request, &origin, &parent, ends[1]));
	}
	close(ends[1]);
	return run_front(&parent, &witness, supervisor, ends[0]);
}
