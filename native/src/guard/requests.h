#ifndef GUARD_REQUESTS_H
#define GUARD_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The host's requests, and their checks. The answers are frames of JSON: `held`, `running`, `failed`
 * and `exited`. A preloaded parent speaks the same protocol.
 *
 * A request is a frame: four bytes of length, then so many bytes. All numbers are big-endian. The
 * first byte names the request. Four bytes of id follow, but for `end`; with a start also
 *
 *     1 byte   which of the descriptors 0 to 7 the worker gets, as bits
 *     4 bytes  the number of arguments
 *     4 bytes  the number of variables
 *     strings  each ends with a NUL: label, executable, working directory, the arguments after the
 *              name of the program, and the variables as NAME=VALUE
 *
 * and nothing after the last NUL. */

/* The version that the first message of the guard names. */
enum { PROTOCOL_VERSION = 2 };

/* Arguments and environment of one program have at most about 6 MiB on Linux. */
enum { MAX_REQUEST_BYTES = 16 * 1024 * 1024 };

/* The host's names of workers are shorter. */
enum { MAX_LABEL_BYTES = 200 };

/* Descriptors that a worker can have: empty input or `stdin`, `stdout`, `stderr`, `control`, and what its adapter asks
 * for. As many as a byte has bits. */
enum { DESCRIPTORS = 8 };

enum request_kind {
	/* Fork a held worker with these descriptors, to execute this program. */
	REQUEST_START = 1,
	/* It is recorded, let it run. */
	REQUEST_GO = 2,
	/* Kill it and do not report it. */
	REQUEST_DISCARD = 3,
	/* Its end was recorded: free its pid. */
	REQUEST_REAP = 4,
	/* The run has ended: kill what is left, and exit. */
	REQUEST_END = 5,
};

struct request {
	enum request_kind kind;
	/* The number of the start that it is about. */
	uint32_t id;
	/* The rest belongs to a start. Bit n: the worker gets a connection as its descriptor n. */
	uint8_t descriptors;
	uint32_t argument_count;
	uint32_t variable_count;
	/* These point into the bytes that were parsed. */
	char *label;
	char *executable;
	char *directory;
	/* The first of `argument_count` strings, one after the other, and of `variable_count`. */
	char *arguments;
	char *variables;
};

/* Checks the bytes of one request; false if they are none. `request` refers to `bytes` afterwards. */
bool parse_request(char *bytes, size_t length, struct request *request);

/* Returns the string after this one. */
char *next_string(char *string);

#endif
