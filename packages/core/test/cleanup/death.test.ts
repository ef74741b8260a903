import { expect, test } from "vitest";
import { deathOf } from "../../src/cleanup/run-claim.ts";
import { UNKNOWN_END } from "../../src/contract/process-registry.ts";
import { deadOwner } from "./crafted-run.ts";

const says = (evidence: string | undefined) => ({
	killedForMemory: async () => evidence,
});
const owner = deadOwner();
const died = { owner, programEnd: undefined };

test("what a program recorded of its own end counts, whatever else is found", async () => {
	const programEnd = { ...UNKNOWN_END, how: "exited", code: 3 } as const;
	expect(await deathOf({ owner, programEnd }, "other", says("killed"))).toBe(
		programEnd,
	);
});

test("a program that recorded no end died of memory only if the kernel says so, and with its machine if that was restarted", async () => {
	expect(await deathOf(died, "same", says(undefined))).toBeUndefined();
	expect(await deathOf(died, "same", says("its log"))).toEqual({
		...{ ...UNKNOWN_END, how: "out_of_memory", detail: "its log" },
	});
	expect(await deathOf(died, "other", says("its log"))).toMatchObject({
		how: "machine_restarted",
	});
});
