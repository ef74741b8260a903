#ifndef GUARD_WORKERS_H
#define GUARD_WORKERS_H

#include <poll.h>
#include <stdbool.h>

#include "host-link.h"
#include "reception.h"

/* The workers of a guard, from the request to start one until its pid is free.
 *
 * Starts workers, reports their ends, and keeps their pids until the host has seen them. Until then
 * the pid of a dead worker cannot belong to another process, so the host's signals reach no other
 * process. */

/* Between the request and the moment when the program runs. The host starts 24 at once. */
enum { MAX_STARTING = 1024 };

struct worker;

struct workers {
	struct host_link *link;
	struct reception *reception;
	struct worker *first;
	/* The greatest number of a start; -1 before the first. */
	long long newest;
};

/* Starts a worker; it is forked once its descriptors have arrived. Takes `bytes`, to which `start`
 * refers. False if its number is not greater than all earlier ones: the host broke the protocol. */
bool start_worker(struct workers *workers, const struct request *start, char *bytes);

/* A descriptor of a start has arrived, or could not be kept. */
void worker_arrival(struct workers *workers, const struct arrival *arrival);

/* Handles a request about a worker; ignores one that arrives too late. */
void handle_request(struct workers *workers, const struct request *request);

/* Adds the descriptors to wait for; returns how many were added, at most `MAX_STARTING`. */
int poll_reports(const struct workers *workers, struct pollfd waiting[]);

/* Reads the reports of the children. */
void read_reports(struct workers *workers);

/* Reports workers that ended, and reaps all other children that ended. */
void collect_ended(struct workers *workers);

/* The host's name for the worker with this pid; NULL if there is none. */
const char *label_of(const struct workers *workers, pid_t pid);

#endif
