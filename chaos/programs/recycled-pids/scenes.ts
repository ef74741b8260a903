import { guardSends, nextStart, watchdogAwakens } from "./dead-hosts.ts";
import {
	guardLost,
	guardLostAfterItTold,
	parentAndGuardLost,
	parentLost,
} from "./forked-workers.ts";
import {
	failedStart,
	killedAfterTheGrace,
	orphansSwept,
	type Scene,
	signalledBeforeTheExit,
	sweptAfterTheExit,
	watchdogsKilled,
} from "./own-children.ts";
import type { RecycledPath } from "./paths.ts";

/** What happens on each path that sends signals. */
export const SCENES: Readonly<Record<RecycledPath, Scene>> = {
	"swept-after-the-exit": sweptAfterTheExit,
	"signalled-before-the-exit": signalledBeforeTheExit,
	"failed-start": failedStart,
	"watchdogs-killed": watchdogsKilled,
	"killed-after-the-grace": killedAfterTheGrace,
	"orphans-swept": orphansSwept,
	"watchdog-awakens": watchdogAwakens,
	"next-start": nextStart,
	"guard-sends": guardSends,
	"guard-lost": guardLost,
	"guard-lost-after-it-told": guardLostAfterItTold,
	"parent-lost": parentLost,
	"parent-and-guard-lost": parentAndGuardLost,
};
