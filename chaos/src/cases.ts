import { endings } from "./cases/endings.ts";
import { falseKills } from "./cases/false-kills.ts";
import { hostKilled, hostMemory } from "./cases/host-killed.ts";
import { manyHosts } from "./cases/many-hosts.ts";
import { nextStart } from "./cases/next-start.ts";
import { otherPrograms } from "./cases/other-programs.ts";
import { startUp } from "./cases/start-up.ts";
import { trees } from "./cases/trees.ts";
import type { ChaosCase } from "./harness/chaos-case.ts";

/** Every case, in the order of the results. */
export const CASES: readonly ChaosCase[] = [
	...hostKilled,
	...startUp,
	...trees,
	...otherPrograms,
	...nextStart,
	...manyHosts,
	...falseKills,
	...endings,
	...hostMemory,
];
