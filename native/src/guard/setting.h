#ifndef GUARD_SETTING_H
#define GUARD_SETTING_H

#include <stdbool.h>
#include <sys/types.h>

/* The descriptors that a guard inherits. */
enum {
	/* The conversation with the host. */
	PROTOCOL = 3,
	/* A connection without data, which closes when the host dies. */
	LIFELINE = 4,
};

/* The arguments with which a host starts a guard. The texts live as long as the arguments of the program. */
struct setting {
	/* The path of the socket whose connections become a worker's descriptors. */
	const char *socket;
	/* The file for what happens while no host lives. */
	const char *incidents;
	const char *run_id;
	/* The pid of the process that started the guard. */
	pid_t host;
};

/* Parses `--socket PATH --incidents PATH --run-id ID`, in any order; false if they have another form. */
bool parse_setting(int count, char *const arguments[], struct setting *setting);

#endif
