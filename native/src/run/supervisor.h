#ifndef RUN_SUPERVISOR_H
#define RUN_SUPERVISOR_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "../guard/kill-order.h"
#include "request.h"

/* A process that is a parent of this one, or was. */
struct parent {
	pid_t pid;
	/* Readable when it has ended; -1 if the kernel has no pidfd. */
	int reference;
};

/* Reads the parent. False if it ended meanwhile. */
bool know_parent(struct parent *parent);

/* Whether the parent has ended. Without a reference, only its child can find out: `is_child` says whether this process
 * is one. */
bool parent_has_ended(const struct parent *parent, bool is_child);

/* Sends a signal to the parent, of which this process is a child. Never to a later owner of its pid. */
void signal_parent(const struct parent *parent, int number);

/* The connection between front and supervisor: complete messages, and each side notices when the other has ended. */

enum word {
	/* To the supervisor: only the front got this signal. */
	WORD_SIGNAL,
	/* To the supervisor: the whole group of the front got this signal, so the command did too. */
	WORD_GROUP_SIGNAL,
	/* To the supervisor: the parent has ended. */
	WORD_PARENT_ENDED,
	/* To the front: this many processes belong to another user and could not be ended. */
	WORD_LEFT,
	/* To the front: the command has ended with this exit status, and no process of it is left. */
	WORD_EXITED,
	/* To the front: this signal ended the command, and no process of it is left. */
	WORD_KILLED,
};

struct message {
	enum word word;
	int number;
};

/* Opens both ends; false, with errno, if there are none. */
bool open_link(int ends[2]);

/* Sends a message; one that finds no room is lost. */
void send_message(int end, enum word word, int number);

enum received { RECEIVED_MESSAGE, RECEIVED_NONE, RECEIVED_END };

/* Receives a message if there is one. */
enum received receive_message(int end, struct message *message);

/* The group, session and signal state of `run` at its start, which the command gets. */
struct origin {
	struct home home;
	sigset_t blocked;
	struct sigaction at_child_end;
};

/* Remembers it, and blocks every signal from then on. False, with errno, if the kernel refuses. */
bool take_origin(struct origin *origin);

/* Starts the command, and ends all its descendants when the command, the parent or the front has ended. Runs in a child
 * of the front, whose signals are blocked; returns its exit status, which is not read. */
int supervise(const struct request *request, const struct origin *origin, const struct parent *parent,
	int link);

#endif
