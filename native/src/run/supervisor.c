#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../complain.h"
#include "../exit-status.h"
#include "../guard/arming.h"
#include "../guard/clock.h"
#include "../guard/killing.h"
#include "../guard/wakeup.h"
#include "descriptors.h"
#include "link.h"

enum { NEVER = -1 };

struct supervisor {
	const struct request *request;
	const struct origin *origin;
	const struct parent *parent;
	struct parent front;
	int link;
	int wakeup;
	/* 0 when it has ended. */
	pid_t command;
	/* How it has ended. */
	struct message end;
	/* The command's standard input, while its end matters and was not seen yet; otherwise -1. */
	int input;
	/* When to end a command whose input has ended, or `NEVER`. */
	long long patience;
	/* When to kill the processes that are left, or `NEVER`. */
	long long deadline;
};

static void report(const struct supervisor *self, const char *format, int number)
{
	char line[128];
	if (!self->request->verbose)
		return;
	snprintf(line, sizeof line, format, number);
	mention(line, NULL, 0);
}

static bool is_ending(const struct supervisor *self)
{
	return self->deadline != NEVER;
}

static void begin_ending(struct supervisor *self, const char *reason)
{
	if (is_ending(self))
		return;
	self->deadline = now_ms() + self->request->grace_ms;
	/* A stopped process could not end. */
	signal_parent(&self->front, SIGCONT);
	int count = terminate_all();
	report(self, reason, count);
}

static void count_kill(const struct step *step, void *context)
{
	*(int *)context += step != NULL;
}

static void kill_all(struct supervisor *self)
{
	int killed = 0;
	/* Also where nothing else is found. */
	if (self->command != 0)
		kill(self->command, SIGKILL);
	int left = kill_until_none(self->wakeup, WHOM_ALL, &self->origin->home, count_kill, &killed);
	if (left != 0)
		send_message(self->link, WORD_LEFT, left);
	if (self->command != 0)
		self->end = (struct message){.word = WORD_KILLED, .number = SIGKILL};
	self->command = 0;
	report(self, "%d processes were killed", killed);
}

static void note_change(struct supervisor *self, const siginfo_t *change)
{
	switch (change->si_code) {
	case CLD_STOPPED:
		/* The shell that waits for the front sees that the command is stopped. */
		signal_parent(&self->front, SIGSTOP);
		break;
	case CLD_CONTINUED:
		signal_parent(&self->front, SIGCONT);
		break;
	case CLD_EXITED:
	case CLD_KILLED:
	case CLD_DUMPED:
		self->command = 0;
		self->end = (struct message){
			.word = change->si_code == CLD_EXITED ? WORD_EXITED : WORD_KILLED,
			.number = change->si_status,
		};
	}
}

/* Reaps what has ended; returns whether no child is left. */
static bool collect(struct supervisor *self)
{
	for (;;) {
		siginfo_t change = {0};
		if (waitid(P_ALL, 0, &change, WEXITED | WSTOPPED | WCONTINUED | WNOHANG) != 0) {
			if (errno == EINTR)
				continue;
			return errno == ECHILD;
		}
		if (change.si_pid == 0)
			return false;
		if (change.si_pid == self->command)
			note_change(self, &change);
	}
}

static bool asks_to_end(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

static void take_message(struct supervisor *self, const struct message *message)
{
	if (message->word == WORD_PARENT_ENDED)
		begin_ending(self, "the parent has ended: SIGTERM was sent to %d processes");
	else if (self->command != 0 && message->word == WORD_SIGNAL)
		kill(self->command, message->number);
	else if (self->command == 0 && asks_to_end(message->number))
		self->deadline = now_ms(); /* The command has ended, and a signal came: what is left gets no more time. */
}

/* The command has the grace to end by itself, as servers do when their input ends. */
static void watch_input(struct supervisor *self)
{
	struct pollfd input = {.fd = self->input, .events = POLLRDHUP};
	if (self->input >= 0 && poll(&input, 1, 0) > 0) {
		close(self->input);
		self->input = -1;
		self->patience = now_ms() + self->request->grace_ms;
	}
	if (self->patience != NEVER && now_ms() >= self->patience)
		begin_ending(self, "standard input has ended: SIGTERM was sent to %d processes");
}

static int leave(const struct supervisor *self)
{
	send_message(self->link, self->end.word, self->end.number);
	signal_parent(&self->front, SIGCONT);
	return 0;
}

static void wait_for_change(const struct supervisor *self)
{
	struct pollfd waiting[] = {
		{.fd = self->link, .events = POLLIN},
		{.fd = self->wakeup, .events = POLLIN},
		{.fd = is_ending(self) ? -1 : self->parent->reference, .events = POLLIN},
		{.fd = self->input, .events = POLLRDHUP},
	};
	long long next = is_ending(self) ? self->deadline : self->patience;
	int timeout = -1;
	if (next != NEVER) {
		long long left = next - now_ms();
		timeout = left > 0 ? (int)left : 0;
	}
	wait_for(waiting, sizeof waiting / sizeof *waiting, timeout);
	clear_wakeup(self->wakeup);
}

static int serve(struct supervisor *self)
{
	for (;;) {
		struct message message;
		enum received received;
		wait_for_change(self);
		bool is_alone = collect(self);
		while ((received = receive_message(self->link, &message)) == RECEIVED_MESSAGE)
			take_message(self, &message);
		if (received == RECEIVED_END) {
			kill_all(self);
			return RUN_FAILED;
		}
		if (is_alone)
			return leave(self);
		if (parent_has_ended(self->parent, false))
			begin_ending(self, "the parent has ended: SIGTERM was sent to %d processes");
		watch_input(self);
		if (self->command == 0)
			begin_ending(self, "the command has ended: SIGTERM was sent to %d processes that it left");
		if (is_ending(self) && now_ms() >= self->deadline) {
			kill_all(self);
			return leave(self);
		}
	}
}

static int fail(int link, const char *what)
{
	complain(what, NULL, errno);
	send_message(link, WORD_EXITED, RUN_FAILED);
	return RUN_FAILED;
}

int supervise(const struct request *request, const struct origin *origin, const struct parent *parent,
	int link)
{
	struct supervisor self = {
		.request = request,
		.origin = origin,
		.parent = parent,
		.link = link,
		.wakeup = above_standard(open_wakeup()),
		.input = request->with_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1,
		.patience = NEVER,
		.deadline = NEVER,
	};
	/* If the front ends while this process is stopped, this process continues. */
	prctl(PR_SET_PDEATHSIG, (unsigned long)SIGCONT, 0UL, 0UL, 0UL);
	if (!know_parent(&self.front))
		return RUN_FAILED;
	if (self.wakeup < 0 || !become_subreaper())
		return fail(link, "what the command leaves could not be found");
	pid_t supervisor = getpid();
	self.command = fork();
	if (self.command < 0)
		return fail(link, "cannot fork");
	if (self.command == 0)
		become_command(origin, supervisor, request->command);
	/* A signal to the group of the command, even SIGKILL, must not end this process, which must end the rest. */
	setsid();
	int kept[] = {link, self.wakeup, parent->reference, self.front.reference, self.input};
	keep_only(kept, sizeof kept / sizeof *kept, request->verbose);
	return serve(&self);
}
