/*
 * How soon after SIGKILL can another process know? Compares a robust mutex in shared
 * memory, which the kernel releases before it frees the memory of the dead process, with
 * a socket, which it closes after that.
 *
 *     cc -O2 -pthread bench/experiments/first-sign-of-death.c -o /tmp/first-sign && /tmp/first-sign 1024
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 7

struct shared {
	pthread_mutex_t mutex;
	double released, closed;
};

static struct shared *shared;
static int listener;

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void *wait_for_mutex(void *unused)
{
	pthread_mutex_lock(&shared->mutex); /* returns EOWNERDEAD */
	shared->released = now_ms();
	return unused;
}

static void *wait_for_socket(void *unused)
{
	char byte;

	if (read(listener, &byte, 1) == 0)
		shared->closed = now_ms();
	return unused;
}

/* Holds the mutex, the socket and so many bytes until it is killed. */
static void be_the_host(size_t bytes, int ready)
{
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < bytes; at += 4096)
		memory[at] = 1;
	pthread_mutex_lock(&shared->mutex);
	if (write(ready, "r", 1) != 1)
		exit(1);
	for (;;)
		pause();
}

static void run(size_t megabytes)
{
	int sockets[2];
	char byte;
	pthread_t threads[2];
	pthread_mutexattr_t attributes;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutex, &attributes);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
		exit(1);
	pid_t host = fork();
	if (host == 0) {
		close(sockets[0]);
		be_the_host(megabytes << 20, sockets[1]);
	}
	close(sockets[1]);
	listener = sockets[0];
	if (host < 0 || read(listener, &byte, 1) != 1)
		exit(1);
	pthread_create(&threads[0], NULL, wait_for_mutex, NULL);
	pthread_create(&threads[1], NULL, wait_for_socket, NULL);
	usleep(50000); /* both threads wait in the kernel now */
	double killed = now_ms();
	kill(host, SIGKILL);
	waitpid(host, NULL, 0);
	double reaped = now_ms();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%zu MB: mutex %.2f ms, socket %.2f ms, reaped %.2f ms\n",
	       megabytes, shared->released - killed, shared->closed - killed,
	       reaped - killed);
	close(listener);
	munmap(shared, 4096);
}

int main(int count, char **arguments)
{
	if (count != 2 || atol(arguments[1]) < 1) {
		fprintf(stderr, "usage: first-sign MEGABYTES\n");
		return 2;
	}
	for (int round = 0; round < ROUNDS; round++)
		run(atol(arguments[1]));
	return 0;
}
