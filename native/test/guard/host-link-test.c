/* Frames arrive whole and in order however their bytes are cut; what waits for the host is limited. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../src/guard/host-link.h"
#include "../../src/guard/requests.h"
#include "../check.h"

static int host;

static struct host_link linked(void)
{
	int pair[2];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	host = pair[1];
	struct host_link link;
	open_host_link(&link, pair[0]);
	return link;
}

static void unlink_host(struct host_link *link)
{
	close(link->connection);
	free(link->body);
	free(link->unsent);
}

static void frames_arrive_whole_however_they_are_cut(void)
{
	enum { FRAMES = 300, MOST = 40 };
	struct host_link link = linked();
	unsigned int seed = 7;
	char sent[FRAMES * (4 + MOST)];
	size_t length = 0;
	for (int i = 0; i < FRAMES; i++) {
		unsigned int body = 1 + chance(&seed, MOST);
		memcpy(sent + length, (char[]){0, 0, 0, (char)body}, 4);
		memset(sent + length + 4, i, body);
		length += 4 + body;
	}
	int received = 0;
	for (size_t at = 0; at < length;) {
		size_t piece = 1 + chance(&seed, 100);
		piece = piece < length - at ? piece : length - at;
		CHECK(write(host, sent + at, piece) == (ssize_t)piece);
		at += piece;
		char *body;
		size_t bytes;
		enum received got;
		while ((got = receive_frame(&link, &body, &bytes)) == RECEIVED_FRAME) {
			for (size_t i = 0; i < bytes; i++)
				CHECK(body[i] == (char)received);
			received++;
			free(body);
		}
		CHECK(got == RECEIVED_NOTHING);
	}
	CHECK(received == FRAMES);
	close(host);
	char *body;
	size_t bytes;
	CHECK(receive_frame(&link, &body, &bytes) == RECEIVED_HOST_GONE);
	unlink_host(&link);
}

static void a_length_that_no_frame_has_is_refused(void)
{
	static const char wrong[][4] = {{0, 0, 0, 0}, {-1, -1, -1, -1}, {1, 0, 0, 1}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct host_link link = linked();
		char *body;
		size_t bytes;
		CHECK(write(host, wrong[i], 4) == 4);
		CHECK(receive_frame(&link, &body, &bytes) == RECEIVED_NO_FRAME);
		close(host);
		unlink_host(&link);
	}
}

static void answers_wait_while_the_host_does_not_read(void)
{
	struct host_link link = linked();
	int sent = 0;
	for (; accepts_requests(&link); sent++)
		send_answer(&link, "{\"type\":\"running\",\"id\":%d}", sent);
	CHECK(sent > 100 && link.unsent_bytes >= MAX_WAITING_BYTES);
	char all[1 << 20];
	size_t length = 0;
	while (link.unsent_bytes > 0) {
		ssize_t got = recv(host, all + length, sizeof all - length, MSG_DONTWAIT);
		CHECK(got > 0);
		length += (size_t)got;
		flush_answers(&link);
	}
	ssize_t rest;
	while ((rest = recv(host, all + length, sizeof all - length, MSG_DONTWAIT)) > 0)
		length += (size_t)rest;
	size_t at = 0;
	for (int i = 0; i < sent; i++) {
		char expected[64];
		int bytes = snprintf(expected, sizeof expected, "{\"type\":\"running\",\"id\":%d}", i);
		CHECK(at + 4 + (size_t)bytes <= length && all[at + 3] == (char)bytes);
		CHECK(memcmp(all + at + 4, expected, (size_t)bytes) == 0);
		at += 4 + (size_t)bytes;
	}
	CHECK(at == length);
	/* A host that is gone is reported by the lifeline: what waits is dropped. */
	close(host);
	send_answer(&link, "{}");
	CHECK(link.unsent_bytes == 0);
	unlink_host(&link);
}

int main(void)
{
	frames_arrive_whole_however_they_are_cut();
	a_length_that_no_frame_has_is_refused();
	answers_wait_while_the_host_does_not_read();
	return 0;
}
