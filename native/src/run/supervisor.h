#ifndef RUN_SUPERVISOR_H
#define RUN_SUPERVISOR_H

#include "origin.h"
#include "parent.h"
#include "request.h"

/* Starts the command, and ends all its descendants when the command, the parent or the front has ended. Runs in a child
 * of the front, whose signals are blocked; returns its exit status, which is not read. */
int supervise(const struct request *request, const struct origin *origin, const struct parent *parent,
	int link);

#endif
