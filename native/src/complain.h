#ifndef COMPLAIN_H
#define COMPLAIN_H

/* Writes one line to standard error: `snakepit-native: WHAT: SUBJECT: the error's text`. Both of the latter may be
 * absent: NULL, and 0. Neither allocates nor changes errno. */
void complain(const char *what, const char *subject, int error);

#endif
