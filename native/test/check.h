/* Shared by all tests here: a failed check is named, and the program exits with 1. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
			exit(1); \
		} \
	} while (0)

/* Random numbers that are the same in every run: xorshift. `state` must not begin with 0. */
static inline unsigned int chance(unsigned int *state, unsigned int below)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % below;
}

#endif
