#ifndef GUARD_HOST_LINK_H
#define GUARD_HOST_LINK_H

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
bool takes_requests(const struct host_link *link);

#endif
