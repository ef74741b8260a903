#ifndef GUARD_HOST_LINK_H
#define GUARD_HOST_LINK_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The conversation with the host; never blocks. */

/* While this many bytes of answers wait for the host, no requests are read: the number of workers limits the waiting
 * bytes. */
enum { MAX_WAITING_BYTES = 65536 };

struct host_link {
	int connection;
	/* The frame that is being received: its length, then its bytes. */
	unsigned char header[4];
	size_t header_bytes;
	char *body;
	size_t body_length;
	size_t body_bytes;
	/* Answers that wait because the host does not read. */
	char *unsent;
	size_t unsent_bytes;
	size_t unsent_room;
};

/* What has arrived. */
enum received {
	/* A frame is complete. */
	RECEIVED_FRAME,
	/* Nothing more for now. */
	RECEIVED_NOTHING,
	/* No more requests will come. */
	RECEIVED_HOST_GONE,
	/* An invalid length, or one for which there is no memory. */
	RECEIVED_NO_FRAME,
};

void open_host_link(struct host_link *link, int connection);

/* Receives up to the end of a frame. The bytes of a complete one belong to the caller, who frees
 * them. */
enum received receive_frame(struct host_link *link, char **body, size_t *length);

/* Sends one answer, now or when the host reads again: a JSON object in the manner of printf(3),
 * whose text parts need no escape. */
__attribute__((format(printf, 2, 3))) void send_answer(struct host_link *link, const char *format, ...);

/* Sends the waiting answers, as far as the host reads. Drops them if the host has ended: the lifeline reports that. */
void flush_answers(struct host_link *link);

/* Whether requests are being read. */
bool accepts_requests(const struct host_link *link);

/* How a guard notices the end of the outer guards and of the host. */

/* If two guards are killed at the same instant, one is left. */
enum { OUTER_GUARDS = 2 };

/* Pipes whose other ends the outer guards hold, one each: a pipe closes when its guard has ended. */
struct guard_pair {
	int count;
	int pipes[OUTER_GUARDS];
};

/* Prepares to notice the end of the host, in the outermost guard and all that it forks. False if it has ended.
 *
 * The lifeline reports it first. A copy of the host that was forked without an exec, by native code, holds the other end
 * of the lifeline as long as it lives: then a pidfd of the host reports it, or, on an old kernel, a look at the parent
 * from time to time. The kernel continues a guard that is stopped when the lifeline or its parent ends. */
bool watch_host(pid_t host);

/* The descriptors that a guard checks first: the lifeline, the host, and the pipes of the outer guards. */
enum { MAX_ALARMS = 2 + OUTER_GUARDS };

/* Adds the descriptors to wait for; returns how many were added. */
int poll_alarms(const struct guard_pair *above, struct pollfd waiting[MAX_ALARMS]);

/* How long to wait for them before they are read again, in milliseconds; -1 for ever. */
int alarm_interval_ms(void);

/* What these have reported. */
enum alarm { ALARM_NONE, ALARM_HOST_GONE, ALARM_GUARD_GONE };
enum alarm read_alarms(const struct guard_pair *above, const struct pollfd waiting[MAX_ALARMS]);

/* Whether the host has ended. */
bool host_is_gone(void);

#endif
