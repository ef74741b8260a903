import { expect, test } from "vitest";
import {
	type HostCondition,
	type HostEvidence,
	type HostVerdict,
	judgeHost,
} from "../../src/watchdog/judge-host.ts";

const table: readonly (readonly [
	pipe: HostEvidence["pipe"],
	runs: HostEvidence["runs"],
	host: HostCondition,
	verdict: HostVerdict,
])[] = [
	["open", "some", "alive", "wait"],
	["open", "some", "exiting", "wait"],
	["open", "some", "gone", "kill"],
	["open", "some", "unknown", "wait"],
	["open", "none", "alive", "wait"],
	["open", "none", "exiting", "wait"],
	["open", "none", "gone", "leave"],
	["open", "none", "unknown", "wait"],
	["closed", "some", "alive", "look_again"],
	["closed", "some", "exiting", "kill"],
	["closed", "some", "gone", "kill"],
	["closed", "some", "unknown", "look_again"],
	["closed", "none", "alive", "leave"],
	["closed", "none", "exiting", "leave"],
	["closed", "none", "gone", "leave"],
	["closed", "none", "unknown", "leave"],
];

test.each(table)(
	"pipe %s, runs %s, host %s: %s",
	(pipe, runs, host, verdict) => {
		expect(judgeHost({ pipe, runs, host })).toBe(verdict);
	},
);
