import * as above from "./other-owners.ts";
import * as own from "./own-children.ts";
import type { RecycledPath } from "./paths.ts";
import type { Scene } from "./strangers.ts";

/** What happens on each path that sends signals. */
export const SCENES: Readonly<Record<RecycledPath, Scene>> = {
	"swept-after-the-exit": own.sweptAfterTheExit,
	"signalled-before-the-exit": own.signalledBeforeTheExit,
	"failed-start": own.failedStart,
	"watchdogs-killed": own.watchdogsKilled,
	"killed-after-the-grace": own.killedAfterTheGrace,
	"orphans-swept": own.orphansSwept,
	"watchdog-awakens": above.watchdogAwakens,
	"next-start": above.nextStart,
	"guard-sends": above.guardSends,
	"guard-lost": above.guardLost,
	"guard-lost-after-its-report": above.guardLostAfterItsReport,
	"parent-lost": above.parentLost,
	"parent-and-guard-lost": above.parentAndGuardLost,
};
