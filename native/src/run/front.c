#include "front.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../complain.h"
#include "../exit-status.h"
#include "../guard/killing.h"
#include "../guard/wakeup.h"
#include "descriptors.h"
#include "link.h"

/* How often the parent is checked on an old kernel. */
enum { PARENT_PAUSE_MS = 500 };

struct front {
	const struct parent *parent;
	struct witness *witness;
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
		bool is_shared = number != SIGCONT && witnessed(self->witness, number);
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
	end_witness(self->witness);
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
	mention("the supervisor was killed, and so is the command", NULL, 0);
	return RUN_FAILED;
}

int run_front(const struct parent *parent, struct witness *witness, pid_t supervisor, int link)
{
	struct front self = {
		.parent = parent,
		.witness = witness,
		.supervisor = supervisor,
		.link = link,
		.signals = open_signals(),
	};
	int kept[] = {link, self.signals, parent->reference, witness->link};
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
			mention("processes of another user are left", NULL, 0);
		}
		if (received == RECEIVED_END)
			return replace_supervisor();
		forward_signals(&self);
		watch_parent(&self);
	}
}
