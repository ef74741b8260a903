#ifndef RUN_LINK_H
#define RUN_LINK_H

#include <stdbool.h>

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

#endif
