import { expect, test } from "vitest";
import { judgeOwner } from "../../src/cleanup/run-claim.ts";
import type { ProcessIdentity } from "../../src/contract/identity.ts";

const self: ProcessIdentity = {
	machineId: "m",
	bootId: "b",
	pidNamespace: "n",
	pid: 100,
	startTime: "1000",
};
const owner: ProcessIdentity = { ...self, pid: 7, startTime: "70" };
const reused: ProcessIdentity = { ...owner, startTime: "71" };

test.each([
	["the very process lives", owner, owner, { spared: "owner_alive" }],
	["its pid is free", owner, "gone", "dead"],
	["its pid is another's by now", owner, reused, "dead"],
	["its pid cannot be read", owner, "unknown", { spared: "identity_unknown" }],
	[
		"another boot, whatever has its pid now",
		{ ...owner, bootId: "b0" },
		owner,
		"dead_with_its_boot",
	],
	[
		"another pid namespace, whatever has its pid here",
		{ ...owner, pidNamespace: "n0" },
		"gone",
		{ spared: "other_pid_namespace" },
	],
	[
		"another machine, also with another boot",
		{ ...owner, machineId: "m0", bootId: "b0" },
		"gone",
		{ spared: "other_machine" },
	],
] as const)("%s", (_, recorded, observed, verdict) => {
	expect(judgeOwner(recorded, self, observed)).toEqual(verdict);
});
