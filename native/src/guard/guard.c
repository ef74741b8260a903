#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "own-process.h"
#include "process-table.h"
#include "requests.h"

/* Run ids are short. What is written with them must need no escape. */
static bool is_run_id(const char *text)
{
	size_t length = strlen(text);
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	return length > 0 && length <= 64 && strspn(text, allowed) == length;
}

/* Parses `--socket PATH --incidents PATH --run-id ID`, in any order; false if they have another form. */
static bool parse_guard_arguments(int count, char *const arguments[], struct setting *setting)
{
	*setting = (struct setting){.host = getppid()};
	if (count != 6)
		return false;
	for (int i = 0; i < count; i += 2) {
		const char **field = NULL;
		if (strcmp(arguments[i], "--socket") == 0)
			field = &setting->socket;
		else if (strcmp(arguments[i], "--incidents") == 0)
			field = &setting->incidents;
		else if (strcmp(arguments[i], "--run-id") == 0)
			field = &setting->run_id;
		if (field == NULL || *field != NULL)
			return false;
		*field = arguments[i + 1];
	}
	return is_run_id(setting->run_id);
}

static const char usage[] =
	"usage: guard --inspect | --socket PATH --incidents PATH --run-id ID\n"
	"Descriptor 3 is the connection to the host, 4 its lifeline.\n";

/* Prints why no guard can work here. */
static int inspect(void)
{
	struct process own;
	if (!look(getpid(), &own)) {
		puts("/proc does not show this process: it is not mounted");
		return STATUS_UNAVAILABLE;
	}
	if (!become_subreaper() || !is_subreaper()) {
		printf("prctl(PR_SET_CHILD_SUBREAPER): %s\n", strerror(errno));
		return STATUS_UNAVAILABLE;
	}
	return STATUS_ENDED;
}

/* Reports to the host why a guard ends: the output of a guard is not read. */
static int fail(const char *what)
{
	struct host_link host;
	open_host_link(&host, PROTOCOL);
	send_answer(&host, "{\"type\":\"crashed\",\"reason\":\"%s: %s\"}", what, strerror(errno));
	return STATUS_FAILED;
}

/* Runs a guard and, in a child, those further in; returns the exit status.
 *
 * outer  How many outer guards there are from here on. */
static int run_guards(const struct setting *setting, int outer, struct guard_pair above)
{
	/* The setting is not inherited by a fork. The inner guards check whether it works. */
	become_subreaper();
	continue_with_parent();
	if (outer == 0)
		return run_inner_guard(setting, &above);
	/* Closes when this process ends: no other process keeps the end to write. */
	int alive[2];
	if (pipe2(alive, O_CLOEXEC) != 0)
		return fail("pipe");
	/* Before the fork, so that no end of a child is missed. */
	int wakeup = open_wakeup();
	if (wakeup < 0)
		return fail("signalfd");
	pid_t child = fork();
	if (child < 0)
		return fail("fork");
	if (child == 0) {
		close(alive[1]);
		close(wakeup);
		above.pipes[above.count++] = alive[0];
		_exit(run_guards(setting, outer - 1, above));
	}
	close(alive[0]);
	/* The middle guard keeps it open, so that the host notices a loss only when everything is killed. */
	if (outer == OUTER_GUARDS)
		close(PROTOCOL);
	return run_outer_guard(setting, child, wakeup, &above, outer);
}

/* Descriptors that a program starts with are not closed by an exec: those of a guard must be. */
static bool has_connections(void)
{
	return fcntl(PROTOCOL, F_SETFD, FD_CLOEXEC) == 0 && fcntl(LIFELINE, F_SETFD, FD_CLOEXEC) == 0;
}

/* So every descriptor that is opened later is above those that a worker gets. */
static bool fill_descriptors(void)
{
	int descriptor;
	do
		descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (descriptor >= 0 && descriptor < DESCRIPTORS);
	return descriptor >= 0 && close(descriptor) == 0;
}

int guard_main(int count, char *const arguments[])
{
	if (count == 1 && strcmp(arguments[0], "--inspect") == 0)
		return inspect();
	struct setting setting;
	if (!parse_guard_arguments(count, arguments, &setting) || !has_connections()) {
		fputs(usage, stderr);
		return STATUS_UNAVAILABLE;
	}
	if (!fill_descriptors() || chdir("/") != 0)
		return fail("its descriptors or directory");
	ignore_terminal_signals();
	know_pids();
	if (!watch_host(setting.host))
		return STATUS_HOST_GONE;
	return run_guards(&setting, OUTER_GUARDS, (struct guard_pair){0});
}
