import { expect, test } from "vitest";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import { resolveRunOptions } from "../../src/run/run-options.ts";
import { SharedRun, type SharedRunParts } from "../../src/run/shared-run.ts";
import type { StartedRun } from "../../src/run/start-run.ts";

/** A run whose start and end are in the hands of the test. */
function scene() {
	const starting = Promise.withResolvers<StartedRun>();
	const ending = Promise.withResolvers<void>();
	const counts = { starts: 0, ends: 0, overs: 0, holds: 0 };
	let report: Parameters<SharedRunParts["start"]>[0] = () => {};
	const started = {
		end: () => {
			counts.ends++;
			return ending.promise;
		},
	} as unknown as StartedRun;
	const run = new SharedRun({
		host: {
			keepAlive: () => {
				counts.holds++;
				return () => void counts.holds--;
			},
		},
		dataDir: "/data",
		options: resolveRunOptions("openRun", {}, {}),
		start: (emit) => {
			counts.starts++;
			report = emit;
			return starting.promise;
		},
		onOver: () => counts.overs++,
	});
	return {
		...{ run, started, starting, ending, counts },
		emit: (event: SnakepitEvent) => report(event),
	};
}

const EVENT: SnakepitEvent = {
	...{ type: "control.unavailable", wallMs: 0, reason: "" },
	runId: "abcdefg" as never,
};

test("a run starts with the first share, ends with the last, and holds the program open only meanwhile", async () => {
	const { run, started, starting, ending, counts } = scene();
	const [one, other] = [() => {}, () => {}];
	const joined = Promise.all([run.join(one), run.join(other)]);
	expect(counts).toEqual({ starts: 1, ends: 0, overs: 0, holds: 2 });
	expect(run.started).toBeUndefined();
	starting.resolve(started);
	expect(await joined).toEqual([started, started]);
	expect(run.started).toBe(started);
	expect(counts.holds).toBe(0);
	await run.leave(one, started);
	expect(counts).toEqual({ starts: 1, ends: 0, overs: 0, holds: 0 });
	const left = run.leave(other, started);
	expect(counts).toEqual({ starts: 1, ends: 1, overs: 1, holds: 1 });
	ending.resolve();
	await left;
	expect(counts.holds).toBe(0);
});

test("a share gets the events of the run from its join to the end of its leave", async () => {
	const { run, started, starting, ending, emit } = scene();
	const heard = { one: 0, other: 0 };
	const one = (): void => void heard.one++;
	const other = (): void => void heard.other++;
	starting.resolve(started);
	await run.join(one);
	emit(EVENT);
	await run.join(other);
	emit(EVENT);
	expect(heard).toEqual({ one: 2, other: 1 });
	await run.leave(one, started);
	emit(EVENT);
	const left = run.leave(other, started);
	emit(EVENT);
	ending.resolve();
	await left;
	emit(EVENT);
	expect(heard).toEqual({ one: 2, other: 3 });
});

test("a start that fails fails for everybody who joined, and the run cannot be joined any more", async () => {
	const { run, starting, counts } = scene();
	const joined = [run.join(() => {}), run.join(() => {})];
	const refused = Promise.allSettled(joined);
	starting.reject(new Error("the disk is full"));
	expect(await refused).toMatchObject([
		{ status: "rejected", reason: { message: "the disk is full" } },
		{ status: "rejected", reason: { message: "the disk is full" } },
	]);
	expect(counts).toEqual({ starts: 1, ends: 0, overs: 1, holds: 0 });
});
