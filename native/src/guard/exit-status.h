#ifndef GUARD_EXIT_STATUS_H
#define GUARD_EXIT_STATUS_H

/* The exit statuses of a guard. */
enum guard_status {
	/* The run has ended in order. */
	STATUS_ENDED = 0,
	/* The host has ended: everything was killed. */
	STATUS_HOST_GONE = 64,
	/* Another guard has ended, in another way than the next two: everything was killed. In each of these three cases,
	 * the host must start new guards. */
	STATUS_TWIN_GONE = 65,
	/* The host broke the protocol: everything was killed. */
	STATUS_PROTOCOL_BROKEN = 66,
	/* The innermost guard was ended by a signal: everything was killed. */
	STATUS_INNER_LOST = 67,
	/* The same for the middle guard. */
	STATUS_MIDDLE_LOST = 68,
	/* It cannot work on this machine, or was started with wrong arguments. */
	STATUS_UNAVAILABLE = 69,
	/* The guard itself failed. Another guard kills everything. */
	STATUS_FAILED = 70,
};

/* Not an exit status: the guard continues. */
#define STATUS_NONE (-1)

#endif
