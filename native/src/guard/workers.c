#include "workers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../execute.h"
#include "own-process.h"
#include "process-table.h"

/* A nonblocking connect fails if the backlog is full. The system may limit it further
 * (net.core.somaxconn: 128 on old kernels), which the host has to respect. */
enum { BACKLOG = 1024 };
/* The start, big-endian, and the descriptor. Only these bytes are read: the following ones belong to the worker. */
enum { HEADER_BYTES = 5 };

static int any_descriptor(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool open_reception(struct reception *reception, const char *path, pid_t host)
{
	*reception = (struct reception){.path = path, .host = host, .refused = -1};
	for (int i = 0; i < MAX_UNANNOUNCED; i++)
		reception->unannounced[i] = -1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return false;
	}
	strcpy(address.sun_path, path);
	reception->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	reception->reserve = any_descriptor();
	return reception->listener >= 0 && reception->reserve >= 0 &&
		bind(reception->listener, (struct sockaddr *)&address, sizeof address) == 0 &&
		listen(reception->listener, BACKLOG) == 0;
}

static void take_back_reserve(struct reception *reception)
{
	reception->refused = -1;
	if (reception->reserve < 0)
		reception->reserve = any_descriptor();
}

bool accepts(struct reception *reception)
{
	if (reception->refused < 0)
		take_back_reserve(reception);
	return reception->reserve >= 0;
}

static bool is_host(const struct reception *reception, int connection)
{
	struct ucred peer = {0};
	socklen_t length = sizeof peer;
	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
		peer.pid == reception->host && peer.uid == geteuid();
}

static int accept_one(struct reception *reception)
{
	/* It stays blocking, because a worker expects that. */
	int connection = accept4(reception->listener, NULL, NULL, SOCK_CLOEXEC);
	if (connection >= 0)
		return connection;
	bool is_full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
	if (!is_full || reception->reserve < 0)
		return -1;
	close(reception->reserve);
	reception->reserve = -1;
	connection = accept4(reception->listener, NULL, NULL, SOCK_CLOEXEC);
	if (connection < 0)
		take_back_reserve(reception);
	else
		reception->refused = connection;
	return connection;
}

void accept_connection(struct reception *reception)
{
	int connection = accept_one(reception);
	if (connection < 0)
		return;
	if (is_host(reception, connection))
		for (int i = 0; i < MAX_UNANNOUNCED; i++)
			if (reception->unannounced[i] < 0) {
				reception->unannounced[i] = connection;
				return;
			}
	close(connection);
	take_back_reserve(reception);
}

static bool is_announced(const struct reception *reception, uint32_t start, int number)
{
	for (int i = 0; i < reception->announced_count; i++)
		if (reception->announced[i].start == start && reception->announced[i].number == number)
			return true;
	return false;
}

bool read_header(struct reception *reception, int place, struct arrival *arrival)
{
	int connection = reception->unannounced[place];
	unsigned char header[HEADER_BYTES];
	ssize_t length = recv(connection, header, sizeof header, MSG_DONTWAIT);
	if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return false;
	reception->unannounced[place] = -1;
	bool is_refused = connection == reception->refused;
	bool has_header = length == HEADER_BYTES;
	if (has_header) {
		*arrival = (struct arrival){0};
		for (int i = 0; i < 4; i++)
			arrival->start = arrival->start << 8 | header[i];
		int number = header[4];
		bool is_known = number < DESCRIPTORS && !is_announced(reception, arrival->start, number);
		bool is_full = reception->announced_count == MAX_ANNOUNCED;
		if (is_known && !is_refused && !is_full) {
			reception->announced[reception->announced_count++] = (struct announced){
				.start = arrival->start, .number = number, .connection = connection};
			return true;
		}
		arrival->error = EMFILE;
		has_header = is_refused || (is_known && is_full);
	}
	close(connection);
	if (is_refused)
		take_back_reserve(reception);
	return has_header;
}

static void forget_announced(struct reception *reception, int place)
{
	reception->announced[place] = reception->announced[--reception->announced_count];
}

bool take_connections(struct reception *reception, uint32_t start, uint8_t descriptors,
	int connections[DESCRIPTORS])
{
	for (int number = 0; number < DESCRIPTORS; number++) {
		connections[number] = -1;
		if ((descriptors >> number & 1) != 0 && !is_announced(reception, start, number))
			return false;
	}
	for (int i = reception->announced_count - 1; i >= 0; i--) {
		struct announced each = reception->announced[i];
		if (each.start != start)
			continue;
		forget_announced(reception, i);
		if ((descriptors >> each.number & 1) != 0)
			connections[each.number] = each.connection;
		else
			close(each.connection);
	}
	return true;
}

void drop_connections(struct reception *reception, uint32_t start)
{
	for (int i = reception->announced_count - 1; i >= 0; i--)
		if (reception->announced[i].start == start) {
			close(reception->announced[i].connection);
			forget_announced(reception, i);
		}
}

void close_reception(struct reception *reception)
{
	close(reception->listener);
	for (int i = 0; i < MAX_UNANNOUNCED; i++)
		if (reception->unannounced[i] >= 0)
			close(reception->unannounced[i]);
	for (int i = 0; i < reception->announced_count; i++)
		close(reception->announced[i].connection);
	reception->announced_count = 0;
	if (reception->reserve >= 0)
		close(reception->reserve);
	unlink(reception->path);
}

/* A program in the form that execve takes, prepared before the fork: a child between fork and exec must not allocate
 * memory. */
struct program {
	const char *directory;
	/* The executable, the arguments, NULL; in front of the executable is a place for the shell. */
	char **arguments;
	char **variables;
};

static char **write_strings(char **strings, char *text, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		*strings++ = text;
		text = next_string(text);
	}
	*strings++ = NULL;
	return strings;
}

/* Makes the program of a start, whose bytes must outlive it; NULL without memory. One free(3) frees it. */
static struct program *make_program(const struct request *start)
{
	/* The shell's place, the executable, the arguments, the variables, and a NULL after each of both. */
	size_t pointers = 2 + (size_t)start->argument_count + 1 + (size_t)start->variable_count + 1;
	struct program *program = calloc(1, sizeof *program + pointers * sizeof(char *));
	if (program == NULL)
		return NULL;
	program->directory = start->directory;
	program->arguments = (char **)(program + 1) + 1;
	program->arguments[0] = start->executable;
	program->variables = write_strings(program->arguments + 1, start->arguments, start->argument_count);
	write_strings(program->variables, start->variables, start->variable_count);
	return program;
}

/* In the child: takes the working directory and the environment, and checks without executing it whether the program
 * can be executed. Returns 0 or an error number. An exec can still fail after it: common reasons are covered. */
static int prepare_program(const struct program *program)
{
	if (chdir(program->directory) != 0)
		return errno;
	environ = program->variables;
	return check_executable(program->arguments);
}

/* A child that is forked, armed, and held until its host has recorded it. */

/* A child between its fork and its release, as its parent sees it. */
struct held_child {
	/* Belongs to this child until it is reaped. */
	pid_t pid;
	/* A connection: the child reports on it and is released over it. */
	int link;
};

/* What a child reports. */
enum report {
	/* It is held. */
	REPORT_HELD,
	/* It could not run; with the number of the error. */
	REPORT_FAILED,
	/* Its end of the connection is closed: it runs, or is dead. */
	REPORT_CLOSED,
	/* Nothing for now. */
	REPORT_NOTHING,
};

static const char HELD = 'h';
static const char GO = 'g';
/* After it follow the bytes of an `int`. */
static const char FAILED = 'e';
/* The exit status of a child that was never released; it is not reported. */
enum { NOT_WANTED = 125 };
/* If the kernel cannot close a range, a loop does it, up to this limit. */
enum { MOST_DESCRIPTORS = 65536 };

static void close_range_of(unsigned int first, unsigned int last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	struct rlimit limit = {.rlim_cur = MOST_DESCRIPTORS};
	getrlimit(RLIMIT_NOFILE, &limit);
	if (last >= limit.rlim_cur)
		last = (unsigned int)limit.rlim_cur;
	for (; first <= last && first < MOST_DESCRIPTORS; first++)
		close((int)first);
}

static void put_descriptors(const int connections[DESCRIPTORS], int link)
{
	for (int number = 0; number < DESCRIPTORS; number++)
		if (connections[number] >= 0)
			dup2(connections[number], number);
		else if (number > 0)
			close(number);
	close_range_of(DESCRIPTORS, (unsigned int)link - 1);
	close_range_of((unsigned int)link + 1, ~0U);
}

static int be_held(const struct program *program, const int connections[DESCRIPTORS], pid_t parent,
	int link)
{
	if (!die_with_parent(parent) || setsid() < 0)
		return errno;
	put_descriptors(connections, link);
	restore_signals();
	int error = prepare_program(program);
	if (error != 0)
		return error;
	char answer = 0;
	if (send(link, &HELD, 1, MSG_NOSIGNAL) != 1)
		_exit(NOT_WANTED);
	while (recv(link, &answer, 1, 0) < 0 && errno == EINTR)
		continue;
	if (answer != GO)
		_exit(NOT_WANTED);
	return execute(program->arguments);
}

_Noreturn static void be_child(const struct program *program, const int connections[DESCRIPTORS],
	pid_t parent, int link)
{
	int error = be_held(program, connections, parent, link);
	char report[1 + sizeof error] = {FAILED};
	for (size_t i = 0; i < sizeof error; i++)
		report[1 + i] = ((const char *)&error)[i];
	send(link, report, sizeof report, MSG_NOSIGNAL);
	_exit(NOT_WANTED);
}

/* Forks a child that leads its own session, dies with this process from its first instruction on,
 * and has only an empty standard input and these descriptors. Returns 0 or an error number: there
 * are no processes, descriptors or memory left.
 *
 * connections Which descriptors of this process become the child's descriptors of these numbers; -1 for none. All of
 * them are above those numbers. */
static int fork_held(const struct program *program, const int connections[DESCRIPTORS],
	struct held_child *child)
{
	int links[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links) != 0)
		return errno;
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0)
		be_child(program, connections, parent, links[1]);
	int error = errno;
	close(links[1]);
	if (pid < 0) {
		close(links[0]);
		return error;
	}
	*child = (struct held_child){.pid = pid, .link = links[0]};
	return 0;
}

/* Reads one report of a child; never blocks. */
static enum report read_report(const struct held_child *child, int *error)
{
	char first;
	ssize_t length;
	while ((length = recv(child->link, &first, 1, MSG_DONTWAIT)) < 0 && errno == EINTR)
		continue;
	if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return REPORT_NOTHING;
	if (length == 1 && first == HELD)
		return REPORT_HELD;
	/* A report of an error arrives whole: it is one message of a few bytes. */
	if (length == 1 && first == FAILED &&
		recv(child->link, error, sizeof *error, MSG_DONTWAIT) == sizeof *error)
		return REPORT_FAILED;
	return REPORT_CLOSED;
}

/* Lets the child go on. */
static void release_child(const struct held_child *child)
{
	/* If it was killed while it was held, its end is reported. */
	send(child->link, &GO, 1, MSG_NOSIGNAL);
}

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
