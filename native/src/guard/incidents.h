#ifndef GUARD_INCIDENTS_H
#define GUARD_INCIDENTS_H

#include <stdbool.h>

#include "guard.h"
#include "kill-order.h"

/* The guard's record of what it did while no host lived; the next start of a program reports it.
 *
 * A file in the run directory, written only if there is something to report. One JSON object per line, with the name
 * and the fields of the event that it becomes. Several guards may write, each its own actions: the reader joins
 * duplicates. Incidents are written early, because a guard can also be killed. */

/* A fork loop may leave thousands: all are counted, but not all are named. */
enum { MAX_NAMED = 256 };

/* Prepares to record; a process has one record. */
void open_incidents(const struct setting *setting);

/* Records the host's death, and begins to measure time. */
void record_host_death(void);

/* Whether the host's death is known. */
bool host_death_is_recorded(void);

/* Records that a living process was sent SIGKILL.
 *
 * label The host's name for the guard's child from which it descends; NULL if there is none. The reader has the
 * records, so it also recognizes a worker that was forked by another process. */
void record_kill(const struct step *step, const char *label);

/* How many processes were killed. */
int count_kills(void);

/* Nothing is left: writes the rest, if the host died. */
void record_settled(void);

/* Appends new records, once the host's death is known; does nothing if the directory is gone. */
void write_incidents(void);

#endif
