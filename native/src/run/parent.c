#include "parent.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "descriptors.h"

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
