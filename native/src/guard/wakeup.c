#include "wakeup.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

int open_wakeup(void)
{
	/* An ignored SIGCHLD, which a program can inherit, would leave no children to wait for. */
	signal(SIGCHLD, SIG_DFL);
	sigset_t ended;
	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &ended, NULL) != 0)
		return -1;
	return signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
}

void wait_for_child(int wakeup, int milliseconds)
{
	struct pollfd waiting = {.fd = wakeup, .events = POLLIN};
	poll(&waiting, 1, milliseconds);
	clear_wakeup(wakeup);
}

void clear_wakeup(int wakeup)
{
	struct signalfd_siginfo ended;
	while (read(wakeup, &ended, sizeof ended) > 0)
		continue;
}
