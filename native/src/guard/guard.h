#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>
#include <sys/types.h>

#include "host-link.h"

/* The guard: three processes between a host and its workers, so that no worker escapes. Linux only.
 *
 * The host starts the outermost guard. It forks the middle one, that forks the inner one, and the inner one forks the
 * workers. All are subreapers: a descendant that calls setsid, forks twice, closes everything and clears its
 * environment becomes their child instead of a child of the system's first process. All hold the host's lifeline: when
 * it ends, every descendant is killed. Each notices the death of the others, so that two of them can be lost at once.
 *
 * From the kernel up: `own-process` and `process-table` ask the system, `kill-order` decides, `killing` acts, and
 * `incidents` records it; `requests` and `host-link` are the protocol with the host; `workers` takes the descriptors of
 * workers and forks each as a child that is held until it is released; `inner` and `outer` are the loops. */

/* Runs the guard with the arguments after its name; returns the exit status.
 *
 *     --inspect                                      prints why no guard can work here, if so
 *     --socket PATH --incidents PATH --run-id ID     with the two descriptors below */
int guard_main(int count, char *const arguments[]);

/* The exit statuses of a guard. */
enum guard_status {
	/* The run has ended in order. */
	STATUS_ENDED = 0,
	/* The host has ended: everything was killed. */
	STATUS_HOST_GONE = 64,
	/* Another guard has ended, in another way than the next two: everything was killed. In each of these three cases,
	 * the host must start new guards. */
	STATUS_GUARD_GONE = 65,
	/* The host broke the protocol: everything was killed. */
	STATUS_PROTOCOL_BROKEN = 66,
	/* The innermost guard was ended by a signal: everything was killed. */
	STATUS_INNER_LOST = 67,
	/* The same for the middle guard. */
	STATUS_MIDDLE_LOST = 68,
	/* It cannot work on this machine, or was started with wrong arguments. */
	STATUS_UNAVAILABLE = 69,
	/* The guard itself failed. Another guard kills everything. */
	STATUS_FAILED = 70,
};

/* Not an exit status: the guard continues. */
#define STATUS_NONE (-1)

/* The descriptors that a guard inherits. */
enum {
	/* The conversation with the host. */
	PROTOCOL = 3,
	/* A connection without data, which closes when the host dies. */
	LIFELINE = 4,
};

/* The arguments with which a host starts a guard. The texts live as long as the arguments of the program. */
struct setting {
	/* The path of the socket whose connections become a worker's descriptors. */
	const char *socket;
	/* The file for what happens while no host lives. */
	const char *incidents;
	const char *run_id;
	/* The pid of the process that started the guard. */
	pid_t host;
};

/* The inner guard, the parent of the workers: forks them, and ends them when the host or an outer guard has ended.
 * Serves until then; returns the exit status. */
int run_inner_guard(const struct setting *setting, const struct guard_pair *above);

/* An outer guard: the parent of the next guard. Waits for the end of the host or of another guard, and kills the
 * processes that they leave; returns the exit status.
 *
 * inner   The next guard, a child of this process.
 * wakeup  See `open_wakeup`.
 * below   How many guards there are further in. */
int run_outer_guard(const struct setting *setting, pid_t inner, int wakeup, const struct guard_pair *above,
	int below);

#endif
