import { expect, test } from "vitest";
import {
	type GroupVerdict,
	judgeGroup,
	type ProcessIdentity,
} from "../../src/contract/identity.ts";

function process_(pid: number, startTime = "1"): { identity: ProcessIdentity } {
	const base = { machineId: "m", bootId: "b", pidNamespace: "n" };
	return { identity: { ...base, pid, startTime } };
}

const LEADER = process_(10).identity;
const nothing = (): boolean => false;
const everything = (): boolean => true;

function whose(
	holders: readonly { identity: ProcessIdentity }[],
	isProven: () => boolean,
): GroupVerdict<never>["whose"] {
	return judgeGroup(LEADER, holders, isProven).whose;
}

test("a leader with its start time proves its group, dead or alive", () => {
	expect(judgeGroup(LEADER, [process_(11), process_(10)], nothing)).toEqual({
		whose: "ours",
		prover: process_(10),
	});
});

test("a leader with another start time disproves every member, whatever is known of them", () => {
	const holders = [process_(11), process_(10, "2")];
	expect(whose(holders, everything)).toBe("anothers");
});

test("without a leader one proven member proves all, and without one nothing is known", () => {
	const holders = [process_(11), process_(12)];
	expect(
		judgeGroup(LEADER, holders, ({ identity }) => identity.pid === 12),
	).toEqual({ whose: "ours", prover: process_(12) });
	expect(whose(holders, nothing)).toBe("unknown");
});

test("a number that no process holds has no owner", () => {
	expect(whose([], everything)).toBe("nobodys");
});
