import { expect, test } from "vitest";
import {
	callFilter,
	keyOf,
	listedCalls,
	mergedCalls,
	recordedCall,
	type SettledCall,
} from "../../../web/model/settled-calls.ts";

const call = (callId: string, more: Partial<SettledCall>): SettledCall => ({
	...{ runId: "aaaaaaa", callId, wallMs: 1, pool: "north", command: "add" },
	...{ outcome: "succeeded", totalMs: 1, attempts: 1, attemptDetails: [] },
	...{ message: undefined, ran: undefined, traceback: undefined },
	...{ traceId: undefined, args: undefined, code: undefined },
	...{ workerId: "north-0", alike: 0 },
	...more,
});

const CALLS = [
	call("c1", { wallMs: 4 }),
	call("c2", {
		...{ wallMs: 2, outcome: "failed", code: "WORKER_EXITED" },
		message: "Worker north-7 ended",
	}),
	call("c3", { wallMs: 3, outcome: "timed_out", pool: "south" }),
	call("c4", { wallMs: 5, command: "mean", runId: "bbbbbbb" }),
];

const listed = (query: Readonly<Record<string, string>>): string[] =>
	listedCalls(CALLS, callFilter(query)).map(({ callId }) => callId);

test.each([
	[{}, ["c3", "c2", "c4", "c1"]],
	[{ outcome: "failed" }, ["c3", "c2"]],
	[{ outcome: "succeeded" }, ["c4", "c1"]],
	[{ outcome: "nonsense" }, ["c3", "c2", "c4", "c1"]],
	[{ of: "south" }, ["c3"]],
	[{ text: "exited" }, ["c2"]],
	[{ text: "NORTH-7" }, ["c2"]],
	[{ text: "mean" }, ["c4"]],
	[{ text: "timed" }, ["c3"]],
	[{ text: "c1" }, ["c1"]],
	[{ text: "absent" }, []],
])(
	"with %o, failures come first, and the latest first of each",
	(query, ids) => {
		expect(listed(query)).toEqual(ids);
	},
);

test("a call of the ledger that the page has seen is listed once, as the page has seen it", () => {
	const recorded = recordedCall({
		...{ runId: "aaaaaaa", wallMs: 2, pool: "north", callId: "c2" },
		...{ outcome: "failed", code: "WORKER_EXITED", ran: "maybe" },
		...{ attempts: 2, waitedMs: 1, ranMs: 2, totalMs: 3, alike: 4 },
	});
	expect(recorded).toMatchObject({ sums: { waitedMs: 1, ranMs: 2 }, alike: 4 });
	const other = { ...recorded, pool: "south" };
	const earlier = { ...recorded, runId: "ccccccc" };
	const merged = mergedCalls(CALLS, [recorded, other, earlier]);
	expect(merged.map(keyOf)).toEqual([...CALLS, other, earlier].map(keyOf));
	expect(new Set(merged.map(keyOf)).size).toBe(merged.length);
});
