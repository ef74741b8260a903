/* What the tests here share: a check that fails is named, and the program ends with 1. */
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

/* Chance that is the same in every run: xorshift. `state` begins with anything but 0. */
static inline unsigned int chance(unsigned int *state, unsigned int below)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % below;
}

#endif
