#include "run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../exit-status.h"
#include "../guard/killing.h"
#include "../guard/own-process.h"
#include "../guard/process-table.h"
#include "../report-error.h"
#include "supervisor.h"

/* A process that only receives the signals of its group.
 *
 * The kernel does not say whether a signal was sent to a process or to its whole group. It delivers a signal for the
 * group first to the members that joined last: so this process, which the front has forked, has the signal before the front
 * sees it. */
struct signal_watcher {
	pid_t pid;
	int link;
	/* Signals that it has received and that the front has not queried yet: 1 << (number - 1). */
	uint64_t taken;
};

enum { ANSWER_MS = 200 };

static uint64_t take_signals(void)
{
	static const struct timespec at_once = {0};
	uint64_t taken = 0;
	sigset_t all;
	int number;
	sigfillset(&all);
	while ((number = sigtimedwait(&all, NULL, &at_once)) > 0)
		taken |= (uint64_t)1 << (number - 1);
	return taken;
}

static _Noreturn void watch_signals(int link, pid_t front)
{
	char question;
	if (!die_with_parent(front))
		_exit(1);
	int kept[] = {link};
	keep_only(kept, 1, 0);
	while (recv(link, &question, sizeof question, 0) == sizeof question) {
		uint64_t taken = take_signals();
		if (send(link, &taken, sizeof taken, MSG_NOSIGNAL) != sizeof taken)
			break;
	}
	_exit(0);
}

/* Forks the signal watcher from the front, whose signals are blocked. False, with errno, if there is none. */
static bool fork_signal_watcher(struct signal_watcher *watcher)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return false;
	ends[0] = above_standard(ends[0]);
	ends[1] = above_standard(ends[1]);
	pid_t front = getpid();
	*watcher = (struct signal_watcher){.link = ends[0]};
	watcher->pid = fork();
	if (watcher->pid == 0)
		watch_signals(ends[1], front);
	close(ends[1]);
	return watcher->pid > 0;
}

/* Returns whether the signal watcher has received this signal since the last query. False if it is lost. */
static bool group_got_signal(struct signal_watcher *watcher, int number)
{
	struct pollfd answer = {.fd = watcher->link, .events = POLLIN};
	uint64_t bit = (uint64_t)1 << (number - 1);
	uint64_t taken;
	if (send(watcher->link, "", 1, MSG_NOSIGNAL) == 1) {
		/* In case it was stopped. Not earlier: SIGCONT discards a pending SIGTSTP. */
		if (poll(&answer, 1, ANSWER_MS) == 0)
			kill(watcher->pid, SIGCONT);
		if (recv(watcher->link, &taken, sizeof taken, 0) == sizeof taken)
			watcher->taken |= taken;
	}
	bool is_taken = (watcher->taken & bit) != 0;
	watcher->taken &= ~bit;
	return is_taken;
}

/* Ends it. */
static void end_signal_watcher(const struct signal_watcher *watcher)
{
	kill(watcher->pid, SIGKILL);
	while (waitpid(watcher->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

/* How often the parent is checked on an old kernel. */
enum { PARENT_PAUSE_MS = 500 };

struct front {
	const struct parent *parent;
	struct signal_watcher *watcher;
	pid_t supervisor;
	int link;
	int signals;
	/* Whether the supervisor no longer needs a report of the parent's end. */
	bool is_orphan;
};

static int open_signals(void)
{
	sigset_t forwarded;
	sigfillset(&forwarded);
	sigdelset(&forwarded, SIGCHLD);
	return above_standard(signalfd(-1, &forwarded, SFD_CLOEXEC | SFD_NONBLOCK));
}

static void forward_signals(const struct front *self)
{
	struct signalfd_siginfo signal;
	while (read(self->signals, &signal, sizeof signal) == sizeof signal) {
		int number = (int)signal.ssi_signo;
		/* Continuing twice does no harm. */
		bool is_shared = number != SIGCONT && group_got_signal(self->watcher, number);
		send_message(self->link, is_shared ? WORD_GROUP_SIGNAL : WORD_SIGNAL, number);
	}
}

static void watch_parent(struct front *self)
{
	if (self->is_orphan || !parent_has_ended(self->parent, true))
		return;
	self->is_orphan = true;
	send_message(self->link, WORD_PARENT_ENDED, 0);
	/* In case it was stopped. */
	kill(self->supervisor, SIGCONT);
}

static int end_by_signal(int number)
{
	sigset_t only;
	sigemptyset(&only);
	sigaddset(&only, number);
	/* The command has written its core dump, if there is one. */
	prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
	signal(number, SIG_DFL);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	return 128 + number;
}

static int leave(const struct front *self, const struct message *end)
{
	while (waitpid(self->supervisor, NULL, 0) < 0 && errno == EINTR)
		continue;
	end_signal_watcher(self->watcher);
	return end->word == WORD_KILLED ? end_by_signal(end->number) : end->number;
}

static void ignore(const struct step *step, void *context)
{
	(void)step;
	(void)context;
}

/* The supervisor is lost: the processes that it had to end now descend from this process. */
static int replace_supervisor(void)
{
	struct home home = own_home();
	int wakeup = open_wakeup();
	kill_until_none(wakeup, WHOM_ALL, &home, ignore, NULL);
	report_error_in_time("the supervisor was killed, and so is the command", NULL, 0);
	return RUN_FAILED;
}

/* Forwards signals to the supervisor, reports the end of the parent to it, and waits for it. Ends as the command has
 * ended; returns the exit status for that. */
static int run_front(const struct parent *parent, struct signal_watcher *watcher, pid_t supervisor, int link)
{
	struct front self = {
		.parent = parent,
		.watcher = watcher,
		.supervisor = supervisor,
		.link = link,
		.signals = open_signals(),
	};
	int kept[] = {link, self.signals, parent->reference, watcher->link};
	keep_only(kept, sizeof kept / sizeof *kept, 1);
	for (;;) {
		struct message message;
		enum received received;
		struct pollfd waiting[] = {
			{.fd = link, .events = POLLIN},
			{.fd = self.signals, .events = POLLIN},
			{.fd = self.is_orphan ? -1 : parent->reference, .events = POLLIN},
		};
		bool asks = parent->reference < 0 && parent->pid > 0 && !self.is_orphan;
		wait_for(waiting, sizeof waiting / sizeof *waiting, asks ? PARENT_PAUSE_MS : -1);
		while ((received = receive_message(link, &message)) == RECEIVED_MESSAGE) {
			if (message.word != WORD_LEFT)
				return leave(&self, &message);
			report_error_in_time("processes of another user are left", NULL, 0);
		}
		if (received == RECEIVED_END)
			return replace_supervisor();
		forward_signals(&self);
		watch_parent(&self);
	}
}

static int fail(const char *what)
{
	report_error(what, NULL, errno);
	return RUN_FAILED;
}

int run(int count, char **arguments)
{
	struct request request;
	struct origin origin;
	struct parent parent;
	struct signal_watcher watcher;
	int ends[2];
	struct misspelling wrong;
	if (!parse_run(count, arguments, &request, &wrong)) {
		advise(wrong.what, wrong.argument, wrong.remedy);
		return RUN_MISSPELT;
	}
	if (!know_parent(&parent)) {
		report_error("the parent ended before the command was started", NULL, 0);
		return RUN_FAILED;
	}
	if (!take_origin(&origin) || !become_subreaper())
		return fail("what the command leaves could not be found");
	/* Before the command is started, so that the signal watcher gets every signal that the command gets. */
	if (!open_link(ends) || !fork_signal_watcher(&watcher))
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
	return run_front(&parent, &watcher, supervisor, ends[0]);
}
