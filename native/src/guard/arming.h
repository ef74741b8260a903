#ifndef GUARD_ARMING_H
#define GUARD_ARMING_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes this process the parent of every orphaned descendant; false, with errno, if the kernel or a
 * system call filter refuses. */
bool become_subreaper(void);

/* Whether orphaned descendants become children of this process. */
bool is_subreaper(void);

/* Kills this process when the parent that forked it dies; exits if it is dead already. The setting
 * survives an exec, but not a fork. False, with errno, if the kernel refuses. */
bool die_with_parent(pid_t parent);

/* Continues this process when its parent ends, if it is stopped then. The setting does not survive a fork. */
void continue_with_parent(void);

/* Continues the group that this process leads, or this process, when the other end of a connection is closed. What is
 * stopped would not notice it. */
void continue_at_end(int connection);

/* Ignores signals that are sent to a whole terminal or group, or that ask a program to stop: the host decides what to
 * do, and the guard follows the host. */
void ignore_terminal_signals(void);

/* Resets and unblocks every signal, as a new program expects. */
void restore_signals(void);

#endif
