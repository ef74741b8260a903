import type { ChaosCase } from "./case.ts";
import { bridgeFaults } from "./families/bridge-faults.ts";
import { callsAhead } from "./families/calls-ahead.ts";
import { endings } from "./families/endings.ts";
import { hostKilled, hostMemory, kernelLimit } from "./families/host-killed.ts";
import { layersKilled } from "./families/layers-killed.ts";
import { damagedLedger, ledgerFromOutside } from "./families/ledger.ts";
import { ledgerWrites } from "./families/ledger-writes.ts";
import { falseKills, settings } from "./families/living-host.ts";
import { badWorkers, manySpawns } from "./families/misbehaving-workers.ts";
import { nextStart } from "./families/next-start.ts";
import { largeValues, randomLives } from "./families/random-calls.ts";
import { rayCluster } from "./families/ray.ts";
import { resources } from "./families/resources.ts";

/** Every case, in the order of the results. */
export const CASES: readonly ChaosCase[] = [
	...kernelLimit,
	...hostKilled,
	...layersKilled,
	...nextStart,
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
	...callsAhead,
	...largeValues,
	...randomLives,
	...rayCluster,
	...hostMemory,
];
