#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../execute.h"
#include "../exit-status.h"
#include "../guard/killing.h"
#include "../guard/own-process.h"
#include "../report-error.h"

bool know_parent(struct parent *parent)
{
	parent->pid = getppid();
	/* Linux 5.3. 0 is a parent outside of this pid namespace, which nothing can refer to. */
	parent->reference =
		parent->pid > 0 ? above_standard((int)syscall(SYS_pidfd_open, parent->pid, 0)) : -1;
	/* It is still the parent, so it was not reaped, and the reference is not to a later owner of its pid. */
	return getppid() == parent->pid;
}

bool parent_has_ended(const struct parent *parent, bool is_child)
{
	struct pollfd end = {.fd = parent->reference, .events = POLLIN};
	if (parent->reference >= 0 && poll(&end, 1, 0) > 0)
		return true;
	return is_child && getppid() != parent->pid;
}

void signal_parent(const struct parent *parent, int number)
{
	if (parent->reference >= 0)
		syscall(SYS_pidfd_send_signal, parent->reference, number, NULL, 0);
	else if (getppid() == parent->pid)
		kill(parent->pid, number);
}

bool open_link(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		return false;
	ends[0] = above_standard(ends[0]);
	ends[1] = above_standard(ends[1]);
	return ends[0] >= 0 && ends[1] >= 0;
}

void send_message(int end, enum word word, int number)
{
	struct message message = {.word = word, .number = number};
	while (send(end, &message, sizeof message, MSG_NOSIGNAL) < 0 && errno == EINTR)
		continue;
}

enum received receive_message(int end, struct message *message)
{
	ssize_t length = recv(end, message, sizeof *message, 0);
	if (length == sizeof *message)
		return RECEIVED_MESSAGE;
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return RECEIVED_NONE;
	return RECEIVED_END;
}

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

/* Becomes the command in a child of the supervisor. Never returns: if the command cannot be executed, it writes the
 * reason to standard error and exits with the status that a shell would use. */
static _Noreturn void become_command(const struct origin *origin, pid_t supervisor, char **command)
{
	/* In force after the exec, unless the program has another user's rights. */
	if (!die_with_parent(supervisor)) {
		report_error("the kernel does not kill the command with its parent", NULL, errno);
		_exit(RUN_FAILED);
	}
	sigaction(SIGCHLD, &origin->at_child_end, NULL);
	/* Node ignores these two, and executed this program. */
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigprocmask(SIG_SETMASK, &origin->blocked, NULL);
	const char *name = command[0];
	int error = execute(command);
	report_error("cannot execute", name, error);
	_exit(error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

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
	long long input_deadline;
	/* When to kill the processes that are left, or `NEVER`. */
	long long deadline;
};

static void report(const struct supervisor *self, const char *format, int number)
{
	char line[128];
	if (!self->request->verbose)
		return;
	snprintf(line, sizeof line, format, number);
	report_error_in_time(line, NULL, 0);
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
		self->input_deadline = now_ms() + self->request->grace_ms;
	}
	if (self->input_deadline != NEVER && now_ms() >= self->input_deadline)
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
	long long next = is_ending(self) ? self->deadline : self->input_deadline;
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
	report_error(what, NULL, errno);
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
		.input_deadline = NEVER,
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
