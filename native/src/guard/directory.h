#ifndef GUARD_DIRECTORY_H
#define GUARD_DIRECTORY_H

#include <stdbool.h>

/* Calls `found` with each entry of a directory whose name is a positive number, until it returns
 * false. Allocates nothing, as `opendir` would. A directory that cannot be read has no entries. */
void for_each_number(const char *path, bool (*found)(long number, void *context), void *context);

#endif
