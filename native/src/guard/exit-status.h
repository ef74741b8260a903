#ifndef GUARD_EXIT_STATUS_H
#define GUARD_EXIT_STATUS_H

/* The exit statuses of a guard. */
enum guard_status {
	/* The run has ended in order. */
	STATUS_ENDED = 0,
	/* The host is gone: everything was killed. */
	STATUS_HOST_GONE = 64,
	/* Another guard was gone, in another way than the next two: everything was killed. In each of the
	 * three cases the host has to start new guards. */
	STATUS_TWIN_GONE = 65,
	/* The host broke the protocol: everything was killed. */
	STATUS_PROTOCOL_BROKEN = 66,
	/* The innermost guard was ended by a signal: everything was killed. */
	STATUS_INNER_LOST = 67,
	/* The same of the middle guard. */
	STATUS_MIDDLE_LOST = 68,
	/* It cannot work on this machine, or was started with other arguments than it has. */
	STATUS_UNAVAILABLE = 69,
	/* The guard itself failed. Another guard kills everything. */
	STATUS_FAILED = 70,
};

/* Not an exit status: the guard serves on. */
#define STATUS_NONE (-1)

#endif
