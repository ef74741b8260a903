/* The lifeline: the host's death ends this process and its process group.
 *
 * The host listens on a private socket. A process connects to it and never writes or reads. When the host dies, the
 * kernel closes its end; for an armed connection the kernel itself then sends SIGKILL, whatever the process does.
 */
#ifndef LIFELINE_H
#define LIFELINE_H

#include <stdbool.h>

/* One connection can miss a child that is forked while the group is being killed: it is not in the group yet when the
 * first signal is sent. */
enum { LIFELINE_CONNECTIONS = 2 };

/* Connects to the host's lifeline. Returns a descriptor that stays open over exec, not below `lowest` if the limit on
 * descriptors permits it; or -1 with errno. ENAMETOOLONG: no socket can have this path. */
int lifeline_connect(const char *path, int lowest);

/* Asks the kernel for SIGKILL when anything happens on the connection: to the process group of this process if it leads
 * one, otherwise only to this process. It stays in force over fork and exec until every process has closed the
 * connection. Returns 0; or -1 with errno. */
int lifeline_arm(int connection);

/* Returns whether the host has ended, or anything else has happened on the connection. The host may die between
 * connecting and arming: ask afterwards. */
bool lifeline_ended(int connection);

#endif
