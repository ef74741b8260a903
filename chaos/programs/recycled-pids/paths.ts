/** The code paths on which Snakepit sends a signal. The scene of each has its name. */
export const RECYCLED_PATHS = {
	sweptAfterTheExit: "workers end together; their groups are swept",
	signalledBeforeTheExit:
		"workers end together; they are signalled before Node reports their exits",
	failedStart: "a start fails when its process is dead already",
	watchdogsKilled: "a host ends watchdogs that have ended",
	killedAfterTheGrace:
		"what reaper, auditor and watchdog end exits on SIGTERM; the grace passes",
	orphansSwept: "what was found by its marker ends before the signal",
	watchdogAwakens: "host and workers are killed while the watchdog is stopped",
	nextStart: "host and workers are killed, then a program starts",
	guardSends: "what a guard saw ends before its signal",
	guardLost:
		"the guards and their workers are killed while the host stands still",
	guardLostAfterItsReport:
		"workers end, their guard reports it and is killed while the host stands still",
	parentLost:
		"a preloaded parent and its workers are killed while the host stands still",
	parentAndGuardLost:
		"guards, a preloaded parent and its workers are killed while the host stands still",
} as const;

export type RecycledPath = keyof typeof RECYCLED_PATHS;
