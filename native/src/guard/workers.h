#ifndef GUARD_WORKERS_H
#define GUARD_WORKERS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host-link.h"
#include "requests.h"

/* A private socket on which the host hands over a worker's descriptors.
 *
 * Node cannot pass a descriptor to another process. So it connects once for each descriptor and sends
 * a header with the start and the descriptor's number; from then on the connection belongs to the
 * worker. */

enum {
	/* Connections without a header; the host sends the header at once. */
	MAX_UNANNOUNCED = 256,
	/* Connections whose start has not arrived, or lacks another one. */
	MAX_ANNOUNCED = 1024,
};

struct reception {
	int listener;
	const char *path;
	pid_t host;
	/* Connections without a header; -1 is a free place. */
	int unannounced[MAX_UNANNOUNCED];
	int announced_count;
	struct announced {
		uint32_t start;
		int number;
		int connection;
	} announced[MAX_ANNOUNCED];
	/* Without a free descriptor, a connection can be neither accepted nor refused, and would wake the loop again and
	 * again. This reserve, -1 while it is used, lets one be accepted and refused. */
	int reserve;
	int refused;
};

/* A connection whose header has arrived. */
struct arrival {
	uint32_t start;
	/* 0, or why it could not be kept. */
	int error;
};

/* Listens at a path in a directory that no other user can enter; accepts only connections of the
 * process `host`. False, with errno, if it cannot. */
bool open_reception(struct reception *reception, const char *path, pid_t host);

/* Whether new connections are accepted now. */
bool accepts(struct reception *reception);

/* Accepts a connection. */
void accept_connection(struct reception *reception);

/* Reads the header of the connection at this place; false if it has not arrived, or will never arrive. */
bool read_header(struct reception *reception, int place, struct arrival *arrival);

/* Gives the connections of a start away once all that these bits name have arrived, -1 for each
 * other one; false until then. */
bool take_connections(struct reception *reception, uint32_t start, uint8_t descriptors,
	int connections[DESCRIPTORS]);

/* Closes the connections of a start that is cancelled. */
void drop_connections(struct reception *reception, uint32_t start);

/* Stops listening, closes all connections, and removes the socket. */
void close_reception(struct reception *reception);

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
