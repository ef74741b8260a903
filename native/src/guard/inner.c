#include "guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "incidents.h"
#include "killing.h"
#include "own-process.h"
#include "workers.h"

/* Static, since a process has one of each. */
static struct host_link host;
static struct reception reception;
static struct workers workers = {.link = &host, .reception = &reception, .newest = -1};

/* The descriptors to wait for, in this order: alarms, the host, children, perhaps the listener, connections without a
 * header, and reports. The system refuses more entries than a process can have descriptors: so there are no empty ones. */
static struct watch {
	struct pollfd entries[MAX_ALARMS + 3 + MAX_UNANNOUNCED + MAX_STARTING];
	int alarms;
	int count;
	struct pollfd *host;
	struct pollfd *children;
	struct pollfd *listener;
	struct pollfd *connections[MAX_UNANNOUNCED];
} watch;

/* The pause between two checks while the system refuses to wait. */
enum { REFUSED_PAUSE_MS = 10 };

static struct pollfd *watch_for(int descriptor, short events)
{
	if (descriptor < 0)
		return NULL;
	watch.entries[watch.count] = (struct pollfd){.fd = descriptor, .events = events};
	return &watch.entries[watch.count++];
}

static bool is_ready(const struct pollfd *waiting)
{
	return waiting != NULL && waiting->revents != 0;
}

static void wait_for_events(const struct guard_pair *above, int wakeup)
{
	watch.alarms = watch.count = poll_alarms(above, watch.entries);
	watch.host = watch_for(host.connection,
		(accepts_requests(&host) ? POLLIN : 0) | (host.unsent_bytes > 0 ? POLLOUT : 0));
	watch.children = watch_for(wakeup, POLLIN);
	watch.listener = watch_for(accepts(&reception) ? reception.listener : -1, POLLIN);
	for (int i = 0; i < MAX_UNANNOUNCED; i++)
		watch.connections[i] = watch_for(reception.unannounced[i], POLLIN);
	watch.count += poll_reports(&workers, watch.entries + watch.count);
	while (poll(watch.entries, (nfds_t)watch.count, -1) < 0) {
		if (errno == EINTR)
			continue;
		/* More descriptors may be open than the limit allows. All are checked: no check blocks. */
		wait_for(watch.entries, watch.alarms, REFUSED_PAUSE_MS);
		for (int i = watch.alarms; i < watch.count; i++)
			watch.entries[i].revents = watch.entries[i].events;
		return;
	}
}

/* Handles one request; returns the exit status once the guard is done. It takes `body`. */
static int serve_request(char *body, size_t length)
{
	struct request request;
	if (!parse_request(body, length, &request)) {
		free(body);
		return STATUS_PROTOCOL_BROKEN;
	}
	if (request.kind == REQUEST_START)
		return start_worker(&workers, &request, body) ? STATUS_NONE : STATUS_PROTOCOL_BROKEN;
	free(body);
	if (request.kind == REQUEST_END)
		return STATUS_ENDED;
	handle_request(&workers, &request);
	return STATUS_NONE;
}

static int serve_host(void)
{
	flush_answers(&host);
	while (accepts_requests(&host)) {
		char *body;
		size_t length;
		switch (receive_frame(&host, &body, &length)) {
		case RECEIVED_NOTHING:
			return STATUS_NONE;
		case RECEIVED_HOST_GONE:
			return STATUS_HOST_GONE;
		case RECEIVED_NO_FRAME:
			return STATUS_PROTOCOL_BROKEN;
		case RECEIVED_FRAME:
			break;
		}
		int status = serve_request(body, length);
		/* A host that sends many requests must not keep the guard from noticing its end. */
		if (status != STATUS_NONE || host_is_gone())
			return status;
	}
	return STATUS_NONE;
}

static void serve_connections(void)
{
	for (int i = 0; i < MAX_UNANNOUNCED; i++) {
		struct arrival arrival;
		if (is_ready(watch.connections[i]) && read_header(&reception, i, &arrival))
			worker_arrival(&workers, &arrival);
	}
	if (is_ready(watch.listener))
		accept_connection(&reception);
}

static int serve(const struct guard_pair *above, int wakeup)
{
	wait_for_events(above, wakeup);
	enum alarm alarm = read_alarms(above, watch.entries);
	if (alarm != ALARM_NONE)
		return alarm == ALARM_HOST_GONE ? STATUS_HOST_GONE : STATUS_GUARD_GONE;
	read_reports(&workers);
	if (is_ready(watch.children)) {
		clear_wakeup(wakeup);
		collect_ended(&workers);
	}
	serve_connections();
	return is_ready(watch.host) ? serve_host() : STATUS_NONE;
}

static void killed(const struct step *step, void *context)
{
	(void)context;
	if (step == NULL)
		write_incidents();
	else
		record_kill(step, label_of(&workers, step->root));
}

/* Kills every descendant; records what it did if the host is gone. */
static int leave(int reason, int wakeup)
{
	if (reason == STATUS_HOST_GONE)
		record_host_death();
	/* First, because searching for processes needs descriptors, and these may be the last ones. */
	close_reception(&reception);
	struct home home = own_home();
	int left = kill_until_none(wakeup, WHOM_ALL, &home, killed, NULL);
	record_settled();
	send_answer(&host, "{\"type\":\"ended\",\"killed\":%d,\"left\":%d}", count_kills(), left);
	return reason;
}

static int fail(const char *what)
{
	send_answer(&host, "{\"type\":\"crashed\",\"reason\":\"%s: %s\"}", what, strerror(errno));
	return STATUS_FAILED;
}

int run_inner_guard(const struct setting *setting, const struct guard_pair *above)
{
	open_host_link(&host, PROTOCOL);
	open_incidents(setting);
	if (!is_subreaper())
		return fail("this process was not made a subreaper");
	int wakeup = open_wakeup();
	if (wakeup < 0)
		return fail("signalfd");
	if (!open_reception(&reception, setting->socket, setting->host))
		return fail("the socket for connections");
	send_answer(&host,
		"{\"type\":\"ready\",\"version\":%d,\"pid\":%d,\"subreaper\":true,\"listsChildren\":%s}",
		PROTOCOL_VERSION, (int)getpid(), children_source() == CHILDREN_LISTED ? "true" : "false");
	int status = STATUS_NONE;
	while (status == STATUS_NONE)
		status = serve(above, wakeup);
	return leave(status, wakeup);
}
