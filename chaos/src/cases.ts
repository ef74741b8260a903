import { badWorkers } from "./cases/bad-workers.ts";
import { bridgeFaults } from "./cases/bridge-faults.ts";
import { damagedLedger } from "./cases/damaged-ledger.ts";
import { endings } from "./cases/endings.ts";
import { falseKills } from "./cases/false-kills.ts";
import { hostKilled, hostMemory } from "./cases/host-killed.ts";
import { identities } from "./cases/identities.ts";
import { kernelLimit } from "./cases/kernel-limit.ts";
import { largeValues } from "./cases/large-values.ts";
import { layersKilled } from "./cases/layers-killed.ts";
import { ledgerFromOutside } from "./cases/ledger-from-outside.ts";
import { ledgerWrites } from "./cases/ledger-writes.ts";
import { manyHosts } from "./cases/many-hosts.ts";
import { manySpawns } from "./cases/many-spawns.ts";
import { nextStart } from "./cases/next-start.ts";
import { otherPrograms } from "./cases/other-programs.ts";
import { preloaded } from "./cases/preloaded.ts";
import { randomLives } from "./cases/random-lives.ts";
import { recycledPids } from "./cases/recycled-pids.ts";
import { resources } from "./cases/resources.ts";
import { settings } from "./cases/settings.ts";
import { startUp } from "./cases/start-up.ts";
import { trees } from "./cases/trees.ts";
import type { ChaosCase } from "./harness/chaos-case.ts";

/** Every case, in the order of the results. */
export const CASES: readonly ChaosCase[] = [
	...kernelLimit,
	...hostKilled,
	...startUp,
	...trees,
	...otherPrograms,
	...layersKilled,
	...preloaded,
	...nextStart,
	...manyHosts,
	...identities,
	...recycledPids,
	...falseKills,
	...settings,
	...endings,
	...badWorkers,
	...manySpawns,
	...ledgerWrites,
	...damagedLedger,
	...ledgerFromOutside,
	...resources,
	...bridgeFaults,
	...largeValues,
	...randomLives,
	...hostMemory,
];
