#ifndef GUARD_CLOCK_H
#define GUARD_CLOCK_H

/* Milliseconds of a clock that is never adjusted. */
long long now_ms(void);

#endif
