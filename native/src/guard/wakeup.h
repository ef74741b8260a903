#ifndef GUARD_WAKEUP_H
#define GUARD_WAKEUP_H

/* Opens a descriptor that is readable when a child has ended; -1, with errno, if there is none left.
 * SIGCHLD is blocked from then on. */
int open_wakeup(void);

/* Returns when a child has ended since the last call, or after this time. */
void wait_for_child(int wakeup, int milliseconds);

/* Empties it. */
void clear_wakeup(int wakeup);

#endif
