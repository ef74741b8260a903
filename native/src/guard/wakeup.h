#ifndef GUARD_WAKEUP_H
#define GUARD_WAKEUP_H

#include <poll.h>

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

#endif
