#include "workers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork.h"
#include "process-table.h"

enum worker_state {
	/* Not all of its descriptors have arrived. */
	WORKER_AWAITED,
	/* Not yet held. */
	WORKER_FORKED,
	/* Until it is recorded. */
	WORKER_HELD,
	/* About to run. */
	WORKER_RELEASED,
	WORKER_RUNNING,
	/* Its pid is kept. */
	WORKER_ENDED,
	/* It was killed and is no longer reported. */
	WORKER_DISCARDED,
};

struct worker {
	struct worker *next;
	enum worker_state state;
	uint32_t id;
	char label[MAX_LABEL_BYTES + 1];
	/* Until it is forked: the request, and the bytes to which it refers. */
	struct request start;
	char *bytes;
	/* Afterwards. Without a pid it is not forked; without a link it reports no more. */
	struct held_child child;
};

static bool is_starting(const struct worker *worker)
{
	return worker->bytes != NULL || worker->child.link >= 0;
}

static struct worker *find_worker(const struct workers *workers, uint32_t id)
{
	struct worker *worker = workers->first;
	while (worker != NULL && worker->id != id)
		worker = worker->next;
	return worker;
}

static void forget_start(struct worker *worker)
{
	free(worker->bytes);
	worker->bytes = NULL;
}

static void close_link(struct worker *worker)
{
	if (worker->child.link >= 0)
		close(worker->child.link);
	worker->child.link = -1;
}

/* Frees a worker, and its pid if it is dead. */
static void free_worker(struct workers *workers, struct worker *worker)
{
	struct worker **place = &workers->first;
	while (*place != worker)
		place = &(*place)->next;
	*place = worker->next;
	if (worker->child.pid > 0)
		waitpid(worker->child.pid, NULL, 0);
	forget_start(worker);
	close_link(worker);
	free(worker);
}

/* Reports a failed start. Error 0: it was killed. */
static void report_failure(struct workers *workers, uint32_t id, int error)
{
	drop_connections(workers->reception, id);
	send_answer(workers->link,
		"{\"type\":\"failed\",\"id\":%u,\"errno\":%d,\"message\":\"%s\"}", id, error,
		error == 0 ? "killed before it ran" : "");
}

static void fork_worker(struct workers *workers, struct worker *worker,
	const int connections[DESCRIPTORS])
{
	int error = ENOMEM;
	struct program *program = make_program(&worker->start);
	if (program != NULL)
		error = fork_held(program, connections, &worker->child);
	free(program);
	forget_start(worker);
	for (int number = 0; number < DESCRIPTORS; number++)
		if (connections[number] >= 0)
			close(connections[number]);
	worker->state = WORKER_FORKED;
	if (error != 0) {
		report_failure(workers, worker->id, error);
		free_worker(workers, worker);
	}
}

static void fork_if_complete(struct workers *workers, uint32_t id)
{
	struct worker *worker = find_worker(workers, id);
	if (worker == NULL || worker->state != WORKER_AWAITED) {
		if (id <= workers->newest) /* Too late. Greater numbers may still arrive. */
			drop_connections(workers->reception, id);
		return;
	}
	int connections[DESCRIPTORS];
	if (take_connections(workers->reception, id, worker->start.descriptors, connections))
		fork_worker(workers, worker, connections);
}

static int count_starting(const struct workers *workers)
{
	int count = 0;
	for (const struct worker *each = workers->first; each != NULL; each = each->next)
		count += is_starting(each);
	return count;
}

bool start_worker(struct workers *workers, const struct request *start, char *bytes)
{
	if (start->id <= workers->newest) {
		free(bytes);
		return false;
	}
	workers->newest = start->id;
	bool has_room = count_starting(workers) < MAX_STARTING;
	struct worker *worker = has_room ? calloc(1, sizeof *worker) : NULL;
	if (worker == NULL) {
		free(bytes);
		report_failure(workers, start->id, has_room ? ENOMEM : EAGAIN);
		return true;
	}
	*worker = (struct worker){
		.next = workers->first,
		.state = WORKER_AWAITED,
		.id = start->id,
		.start = *start,
		.bytes = bytes,
		.child = {.pid = 0, .link = -1},
	};
	strcpy(worker->label, start->label);
	workers->first = worker;
	fork_if_complete(workers, start->id);
	return true;
}

void worker_arrival(struct workers *workers, const struct arrival *arrival)
{
	if (arrival->error == 0) {
		fork_if_complete(workers, arrival->start);
		return;
	}
	struct worker *worker = find_worker(workers, arrival->start);
	if (worker == NULL || worker->state != WORKER_AWAITED)
		return;
	report_failure(workers, worker->id, arrival->error);
	free_worker(workers, worker);
}

static void discard_worker(struct workers *workers, struct worker *worker)
{
	drop_connections(workers->reception, worker->id);
	if (worker->child.pid == 0 || worker->state == WORKER_ENDED) {
		free_worker(workers, worker);
		return;
	}
	worker->state = WORKER_DISCARDED;
	/* Its group as well, in case it runs and has children. */
	kill(-worker->child.pid, SIGKILL);
	kill(worker->child.pid, SIGKILL);
}

void handle_request(struct workers *workers, const struct request *request)
{
	struct worker *worker = find_worker(workers, request->id);
	if (worker == NULL)
		return;
	if (request->kind == REQUEST_GO && worker->state == WORKER_HELD) {
		worker->state = WORKER_RELEASED;
		release_child(&worker->child);
	} else if (request->kind == REQUEST_REAP && worker->state == WORKER_ENDED) {
		free_worker(workers, worker);
	} else if (request->kind == REQUEST_DISCARD) {
		discard_worker(workers, worker);
	}
}

int poll_reports(const struct workers *workers, struct pollfd waiting[])
{
	int count = 0;
	for (const struct worker *each = workers->first; each != NULL; each = each->next)
		if (each->child.link >= 0 && count < MAX_STARTING)
			waiting[count++] = (struct pollfd){.fd = each->child.link, .events = POLLIN};
	return count;
}

/* Reads what a child has reported up to now. */
static void read_reports_of(struct workers *workers, struct worker *worker)
{
	int error = 0;
	enum report report = REPORT_NOTHING;
	while (worker->child.link >= 0 &&
		(report = read_report(&worker->child, &error)) != REPORT_NOTHING) {
		if (report == REPORT_HELD) {
			if (worker->state != WORKER_FORKED)
				continue;
			worker->state = WORKER_HELD;
			send_answer(workers->link, "{\"type\":\"held\",\"id\":%u,\"pid\":%d}", worker->id,
				(int)worker->child.pid);
			continue;
		}
		close_link(worker);
		if (report == REPORT_FAILED && worker->state != WORKER_DISCARDED) {
			report_failure(workers, worker->id, error);
			worker->state = WORKER_DISCARDED;
		} else if (worker->state == WORKER_RELEASED) {
			worker->state = WORKER_RUNNING;
			send_answer(workers->link, "{\"type\":\"running\",\"id\":%u}", worker->id);
		}
	}
}

void read_reports(struct workers *workers)
{
	for (struct worker *each = workers->first; each != NULL; each = each->next)
		read_reports_of(workers, each);
}

static void collect_worker(struct workers *workers, struct worker *worker)
{
	siginfo_t end = {0};
	if (waitid(P_PID, (id_t)worker->child.pid, &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
		end.si_pid == 0)
		return;
	/* Its last report arrives before its end. */
	read_reports_of(workers, worker);
	switch (worker->state) {
	case WORKER_DISCARDED:
		free_worker(workers, worker);
		return;
	case WORKER_FORKED:
	case WORKER_HELD:
		report_failure(workers, worker->id, 0);
		free_worker(workers, worker);
		return;
	default:
		worker->state = WORKER_ENDED;
		send_answer(workers->link,
			"{\"type\":\"exited\",\"id\":%u,\"how\":\"%s\",\"status\":%d}", worker->id,
			end.si_code == CLD_EXITED ? "code" : "signal", end.si_status);
	}
}

static bool reap_other(pid_t child, void *context)
{
	const struct workers *workers = context;
	for (const struct worker *each = workers->first; each != NULL; each = each->next)
		if (each->child.pid == child)
			return true;
	waitpid(child, NULL, WNOHANG);
	return true;
}

void collect_ended(struct workers *workers)
{
	struct worker *next;
	for (struct worker *each = workers->first; each != NULL; each = next) {
		next = each->next;
		if (each->child.pid > 0 && each->state != WORKER_ENDED)
			collect_worker(workers, each);
	}
	children_of(getpid(), children_source(), reap_other, workers);
}

const char *label_of(const struct workers *workers, pid_t pid)
{
	for (const struct worker *each = workers->first; each != NULL; each = each->next)
		if (each->child.pid == pid && each->label[0] != '\0')
			return each->label;
	return NULL;
}
