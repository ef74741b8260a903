#ifndef LIFELINE_H
#define LIFELINE_H

/* `lifeline SOCKET [--report FD] [--listen FD PATH]... -- PROGRAM ARGS...`: ties this process to the life of the host
 * that listens on SOCKET, makes sockets for PROGRAM that listen at FD, and becomes PROGRAM. The arguments begin after
 * `lifeline`. Returns the exit status when it cannot. */
int launch(int count, char **arguments);

#endif
