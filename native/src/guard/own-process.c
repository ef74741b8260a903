#include "own-process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool become_subreaper(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) == 0;
}

bool is_subreaper(void)
{
	int answer = 0;
	return prctl(PR_GET_CHILD_SUBREAPER, &answer, 0UL, 0UL, 0UL) == 0 && answer == 1;
}

bool die_with_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL) != 0)
		return false;
	/* The parent may have died before this was armed. Compared with its pid: under another subreaper, or in a
	 * container, the new parent need not be process 1. */
	if (getppid() != parent)
		_exit(1);
	return true;
}

void continue_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, (unsigned long)SIGCONT, 0UL, 0UL, 0UL);
}

void continue_at_end(int connection)
{
	pid_t owner = getpgrp() == getpid() ? -getpid() : getpid();
	if (fcntl(connection, F_SETOWN, owner) == 0 && fcntl(connection, F_SETSIG, SIGCONT) == 0)
		fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) | O_ASYNC);
}

void ignore_terminal_signals(void)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
}

void restore_signals(void)
{
	/* Refused for SIGKILL, SIGSTOP, and signals that the C library reserves. */
	for (int number = 1; number <= SIGRTMAX; number++)
		signal(number, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* More than nearly every limit; a program with more has a kernel that closes ranges. */
enum { MOST_CLOSED = 65536 };

int above_standard(int descriptor)
{
	if (descriptor < 0 || descriptor > STDERR_FILENO)
		return descriptor;
	int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(descriptor);
	return moved;
}

static void close_all(unsigned int first, unsigned int last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	/* Before Linux 5.9, or below an old filter of system calls. */
	for (unsigned int descriptor = first; descriptor <= last && descriptor < MOST_CLOSED; descriptor++)
		close((int)descriptor);
}

static void sort(int numbers[], int count)
{
	for (int i = 1; i < count; i++)
		for (int j = i; j > 0 && numbers[j] < numbers[j - 1]; j--) {
			int higher = numbers[j - 1];
			numbers[j - 1] = numbers[j];
			numbers[j] = higher;
		}
}

void keep_only(int kept[], int count, int keeps_errors)
{
	unsigned int first = STDERR_FILENO + 1;
	sort(kept, count);
	for (int i = 0; i < count; i++) {
		if (kept[i] < (int)first)
			continue;
		close_all(first, (unsigned int)kept[i] - 1);
		first = (unsigned int)kept[i] + 1;
	}
	close_all(first, UINT_MAX);
	int nothing = above_standard(open("/dev/null", O_RDWR | O_CLOEXEC));
	for (int standard = STDIN_FILENO; standard <= STDERR_FILENO - (keeps_errors != 0); standard++)
		if (nothing < 0 || dup2(nothing, standard) < 0)
			close(standard);
	close(nothing);
}

static bool is_watched(const struct pollfd *waiting)
{
	return waiting->fd >= 0 && waiting->fd < FD_SETSIZE;
}

static int select_for(struct pollfd *waiting, int count, int milliseconds)
{
	struct timeval limit = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000L};
	fd_set readable;
	int highest = -1;
	FD_ZERO(&readable);
	for (int i = 0; i < count; i++)
		if (is_watched(&waiting[i])) {
			FD_SET(waiting[i].fd, &readable);
			highest = waiting[i].fd > highest ? waiting[i].fd : highest;
		}
	int ready = select(highest + 1, &readable, NULL, NULL, milliseconds < 0 ? NULL : &limit);
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

long long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
