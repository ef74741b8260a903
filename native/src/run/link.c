#include "link.h"

#include <errno.h>
#include <sys/socket.h>

#include "descriptors.h"

bool open_link(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		return false;
	ends[0] = above_standard(ends[0]);
	ends[1] = above_standard(ends[1]);
	return ends[0] >= 0 && ends[1] >= 0;
}

void send_message(int end, enum word word, int number)
{
	struct message message = {.word = word, .number = number};
	while (send(end, &message, sizeof message, MSG_NOSIGNAL) < 0 && errno == EINTR)
		continue;
}

enum received receive_message(int end, struct message *message)
{
	ssize_t length = recv(end, message, sizeof *message, 0);
	if (length == sizeof *message)
		return RECEIVED_MESSAGE;
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return RECEIVED_NONE;
	return RECEIVED_END;
}
