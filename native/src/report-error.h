#ifndef REPORT_ERROR_H
#define REPORT_ERROR_H

/* Writes one line to standard error: `snakepit-native: WHAT: SUBJECT: the error's text`. Both of the latter may be
 * absent: NULL, and 0. Neither allocates nor changes errno. */
void report_error(const char *what, const char *subject, int error);

/* The same, while processes wait to be ended: where nobody reads standard error, the line is dropped after a moment. */
void report_error_in_time(const char *what, const char *subject, int error);

/* Writes "snakepit: WHAT: SUBJECT. REMEDY", as the command does that is written in JavaScript. */
void advise(const char *what, const char *subject, const char *remedy);

#endif
