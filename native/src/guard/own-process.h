/* What the guard does to its own process. */
#ifndef GUARD_OWN_PROCESS_H
#define GUARD_OWN_PROCESS_H

#include <poll.h>
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

/* Moves a new descriptor above those of standard input, output and error, which may be closed and belong to the
 * command; returns it, or -1. It is closed on exec. */
int above_standard(int descriptor);

/* Closes every descriptor above standard error but those in the list, which is sorted. Standard input and output, and
 * standard error unless `keeps_errors`, become /dev/null: so a reader that waits for the command to close them waits
 * for no other process. */
void keep_only(int kept[], int count, int keeps_errors);

/* Waits as poll(2) does, for a few descriptors with low numbers, and also where poll refuses: it takes no more entries
 * than the limit on descriptors, which can be lowered to 0. Then one that is readable cannot be told from one that was
 * closed, so what is watched for its end gets no data. Returns how many are ready; -1 if it was interrupted. */
int wait_for(struct pollfd *waiting, int count, int milliseconds);

/* Opens a descriptor that is readable when a child has ended; -1, with errno, if there is none left.
 * SIGCHLD is blocked from then on. */
int open_wakeup(void);

/* Returns when a child has ended since the last call, or after this time. */
void wait_for_child(int wakeup, int milliseconds);

/* Empties it. */
void clear_wakeup(int wakeup);

/* Milliseconds of a clock that is never adjusted. */
long long now_ms(void);

#endif
