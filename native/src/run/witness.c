#include "witness.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../guard/arming.h"
#include "descriptors.h"

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

static _Noreturn void bear_witness(int link, pid_t front)
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

bool fork_witness(struct witness *witness)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return false;
	ends[0] = above_standard(ends[0]);
	ends[1] = above_standard(ends[1]);
	pid_t front = getpid();
	*witness = (struct witness){.link = ends[0]};
	witness->pid = fork();
	if (witness->pid == 0)
		bear_witness(ends[1], front);
	close(ends[1]);
	return witness->pid > 0;
}

bool witnessed(struct witness *witness, int number)
{
	struct pollfd answer = {.fd = witness->link, .events = POLLIN};
	uint64_t bit = (uint64_t)1 << (number - 1);
	uint64_t taken;
	if (send(witness->link, "", 1, MSG_NOSIGNAL) == 1) {
		/* In case it was stopped. Not earlier: SIGCONT discards a pending SIGTSTP. */
		if (poll(&answer, 1, ANSWER_MS) == 0)
			kill(witness->pid, SIGCONT);
		if (recv(witness->link, &taken, sizeof taken, 0) == sizeof taken)
			witness->taken |= taken;
	}
	bool is_taken = (witness->taken & bit) != 0;
	witness->taken &= ~bit;
	return is_taken;
}

void end_witness(const struct witness *witness)
{
	kill(witness->pid, SIGKILL);
	while (waitpid(witness->pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}
