#ifndef LISTEN_H
#define LISTEN_H

/* Makes a socket that listens at the descriptor `number` and stays open over exec: at a path that this user alone may
 * connect to, or for an empty path at a free port of 127.0.0.1. It is non-blocking, as servers need it. Returns the
 * port, 0 for a path; or -1 with errno. */
int listen_at(int number, const char *path);

#endif
