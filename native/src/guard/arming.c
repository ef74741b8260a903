#include "arming.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
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
