#ifndef GUARD_H
#define GUARD_H

/* The guard: three processes between a host and its workers, so that no worker escapes. Linux only.
 *
 * The host starts the outermost guard. It forks the middle one, that forks the inner one, and the inner one forks the
 * workers. All are subreapers: a descendant that calls setsid, forks twice, closes everything and clears its
 * environment becomes their child instead of a child of the system's first process. All hold the host's lifeline: when
 * it ends, every descendant is killed. Each notices the death of the others, so that two of them can be lost at once.
 *
 * From the kernel up: `arming`, `directory` and `process-table` ask the system, `kill-order` decides,
 * `killing` acts; `requests` and `host-link` are the protocol with the host, `reception` takes the
 * descriptors of workers; `fork` makes a child that is held until it is released and becomes a
 * `program`; `inner` and `outer` are the loops. */

/* Runs the guard with the arguments after its name; returns the exit status.
 *
 *     --inspect                                      prints why no guard can work here, if so
 *     --socket PATH --incidents PATH --run-id ID     with the connections of `setting.h` */
int guard_main(int count, char *const arguments[]);

#endif
