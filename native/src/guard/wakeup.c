#include "wakeup.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <unistd.h>

static bool is_watched(const struct pollfd *waiting)
{
	return waiting->fd >= 0 && waiting->fd < FD_SETSIZE;
}

static int select_for(struct pollfd *waiting, int count, int milliseconds)
{
	struct timeval patience = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000L};
	fd_set readable;
	int highest = -1;
	FD_ZERO(&readable);
	for (int i = 0; i < count; i++)
		if (is_watched(&waiting[i])) {
			FD_SET(waiting[i].fd, &readable);
			highest = waiting[i].fd > highest ? waiting[i].fd : highest;
		}
	int ready = select(highest + 1, &readable, NULL, NULL, milliseconds < 0 ? NULL : &patience);
	for (int i = 0; i < count; i++) {
		bool is_ready = ready > 0 && is_watched(&waiting[i]) && FD_ISSET(waiting[i].fd, &readable);
		waiting[i].revents = is_ready ? POLLIN | POLLHUP : 0;
	}
	return ready;
}

int wait_for(struct pollfd *waiting, int count, int milliseconds)
{
	int ready = poll(waiting, (nfds_t)count, milliseconds);
	return ready < 0 && errno == EINVAL ? select_for(waiting, count, milliseconds) : ready;
}

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
	wait_for(&waiting, 1, milliseconds);
	clear_wakeup(wakeup);
}

void clear_wakeup(int wakeup)
{
	struct signalfd_siginfo ended;
	while (read(wakeup, &ended, sizeof ended) > 0)
		continue;
}
