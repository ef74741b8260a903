/** The code paths on which Snakepit sends a signal, with the scene of each. */
export const RECYCLED_PATHS = {
	"swept-after-the-exit": "workers end together; their groups are swept",
	"signalled-before-the-exit":
		"workers end together; they are signalled before Node reports their exits",
	"failed-start": "a start fails when its process is dead already",
	"watchdogs-killed": "a host ends watchdogs that have ended",
	"killed-after-the-grace":
		"what reaper, auditor and watchdog end exits on SIGTERM; the grace passes",
	"orphans-swept": "what was found by its marker ends before the signal",
	"watchdog-awakens":
		"host and workers are killed while the watchdog is stopped",
	"next-start": "host and workers are killed, then a program starts",
	"guard-sends": "what a guard saw ends before its signal",
	"guard-lost":
		"the guards and their workers are killed while the host stands still",
	"guard-lost-after-its-report":
		"workers end, their guard reports it and is killed while the host stands still",
	"parent-lost":
		"a preloaded parent and its workers are killed while the host stands still",
	"parent-and-guard-lost":
		"guards, a preloaded parent and its workers are killed while the host stands still",
} as const;

export type RecycledPath = keyof typeof RECYCLED_PATHS;
