import { expect, test } from "vitest";
import { endOrphans } from "../../src/cleanup/end-orphans.ts";
import { ProcessKiller } from "../../src/cleanup/process-killer.ts";
import { markerOf, type RunId } from "../../src/contract/identity.ts";
import { seenAs } from "./bench.ts";
import { deadOwner } from "./crafted-run.ts";

const RUN = "grd1234" as RunId;
const GUARD = deadOwner({ pid: 4_194_301 });
const BELOW = deadOwner({ pid: 4_194_302 });

/** Ends the orphans of a dead run that left one guard, which ends after `looks`, and what is below it. */
async function endedBelow({
	looks = Infinity,
	below = [],
	admits = true,
}: {
	readonly looks?: number;
	readonly below?: readonly (typeof BELOW)[];
	readonly admits?: boolean;
}) {
	let now = 0;
	let looked = 0;
	const alive = new Set([GUARD, ...below].map(({ pid }) => pid));
	const clock = {
		now: () => now,
		wall: () => 0,
		after: (ms: number, action: () => void) => {
			now += ms;
			const timer = setImmediate(action);
			return { cancel: () => clearImmediate(timer) };
		},
		soon: (action: () => void) => void setImmediate(action),
	};
	const facts = (identity: typeof BELOW) => ({
		...{ identity, groupId: identity.pid },
		...({ condition: "alive", cpuTimeMs: 0, residentBytes: 0 } as const),
	});
	const marker = markerOf(RUN, deadOwner(), "d");
	const host = seenAs({
		snapshot: () => ({
			...{ processes: [], marked: [] },
			guards: [{ ...facts(GUARD), marker, incarnation: undefined, name: "g" }],
		}),
		observe: (pid) => {
			if (pid === GUARD.pid && ++looked > looks) alive.delete(pid);
			if (!alive.has(pid)) return "gone";
			return pid === GUARD.pid ? GUARD : BELOW;
		},
		halted: () => "no",
		descendants: ({ pid }) =>
			pid === GUARD.pid
				? below
						.filter(({ pid }) => alive.has(pid))
						.map((each) => ({ ...facts(each), parent: GUARD }))
				: [],
		signal: ({ pid }) => {
			alive.delete(pid);
			return "sent";
		},
	});
	const ends = await endOrphans(
		{ host, clock, killer: new ProcessKiller(host, clock) },
		[{ ofRun: RUN, owns: ({ runId }) => runId === RUN, workers: [] }],
		{
			limits: { graceMs: 0, deadlineMs: 1_000 },
			admits: async () => admits,
		},
	);
	return {
		ended: ends.results.map(({ target, fate }) => [target.pid, fate]),
		spared: ends.spared.map(({ pid, reason }) => [pid, reason]),
		waitedMs: now,
	};
}

test("a guard that ends by itself in time is waited for", async () => {
	const { ended, waitedMs } = await endedBelow({ looks: 3 });
	expect(ended).toEqual([]);
	expect(waitedMs).toBeGreaterThan(0);
	expect(waitedMs).toBeLessThan(2_000);
});

test("of a guard that cannot act, what is below it is ended, and then the guard", async () => {
	expect(await endedBelow({ below: [BELOW] })).toMatchObject({
		ended: [
			[BELOW.pid, "killed"],
			[GUARD.pid, "killed"],
		],
		spared: [],
	});
});

test("a guard stays as long as something below it is spared, which would not be found any more", async () => {
	expect(await endedBelow({ below: [BELOW], admits: false })).toMatchObject({
		ended: [],
		spared: [[BELOW.pid, "strategy"]],
	});
});
