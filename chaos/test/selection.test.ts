import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { rounds, rows } from "../../scripts/test-effort.ts";
import { testWorkers } from "../../scripts/test-workers.ts";
import { runCase } from "../src/case.ts";
import { CASES } from "../src/cases.ts";
import { summarize } from "../src/report/summary.ts";

/** The full run has its own; this one is the same on every machine. */
const SEED = 1;

const PACKAGES = new URL("../../packages/", import.meta.url);
const HOST_KILLED = "adapter-grpc-python/test/promises/host-killed.test.ts";
const WATCHED = "watchdog/test/watchdog/host-killed.test.ts";
const WATCHDOG_TOO = "watchdog/test/watchdog/watchdog-life.test.ts";

/** Rows that have a test with real processes in a package. */
const TESTED_IN: Readonly<Record<string, string>> = {
	"SIGKILL of the host": HOST_KILLED,
	"SIGKILL of the host at a random moment of start-up": HOST_KILLED,
	"SIGKILL of the host of workers with descendants": WATCHED,
	"SIGKILL of the host of workers that are not Python": WATCHED,
	"a living host is not judged dead, and its workers are not judged hung":
		WATCHED,
	"SIGKILL of the host while its guards cannot act as usual":
		"core/test/guard/stopped.test.ts",
	"everything killed at once, then the next start": WATCHDOG_TOO,
	"the host ends in other ways": "core/test/run/signals.test.ts",
	"the ledger is damaged, locked, read-only or full":
		"core/test/cleanup/lost-record.test.ts",
	"the ledger is damaged from outside while its host lives":
		"core/test/registry/files-under-a-host.test.ts",
	"workers on a Ray cluster: SIGKILL": "adapter-ray/test/cluster/pool.test.ts",
	"calls sent ahead: each settles once, a call that ended as not run never begins, none begins twice":
		"adapter-grpc-python/test/promises/prefetch.test.ts",
	"large values arrive complete and do not change, however the calls around them end":
		"adapter-grpc-python/test/worker/segments.test.ts",
};

// `test` runs the first case of each other row, `check` and `chaos --selection` run them all.
const selection = rows(
	CASES.filter(({ selected }) => selected),
	(chaos) =>
		!(chaos.row in TESTED_IN) &&
		chaos === CASES.find(({ row, selected }) => selected && row === chaos.row),
);

test("a row that `test` leaves out exists and has another test", () => {
	const known = new Set(CASES.map(({ row }) => row));
	for (const [row, path] of Object.entries(TESTED_IN)) {
		expect(known).toContain(row);
		expect(existsSync(new URL(path, PACKAGES)), path).toBe(true);
	}
});

// Side by side: much of it is waiting, and no time is judged here.
test.concurrent.for(
	selection.map((chaos) => ({
		...chaos,
		with: chaos.protections.join(" and ") || "no protection",
		chaos,
	})),
)(
	"$row, $name, with $with: nothing is left that must not be",
	{
		timeout: 300_000,
	},
	async ({ chaos }, { skip }) => {
		const unavailable = chaos.unavailable?.();
		if (unavailable !== undefined) skip(unavailable);
		const outcomes = await runCase(chaos, {
			rounds: rounds(chaos.selected ?? 1, 1),
			seed: SEED,
			workers: testWorkers(),
		});
		const { leftovers, wrongKills, falseKills, broken } = summarize(
			chaos,
			outcomes,
			undefined,
		);
		expect({ leftovers, wrongKills, falseKills, broken }).toEqual({
			leftovers: 0,
			wrongKills: 0,
			falseKills: 0,
			broken: [],
		});
	},
);
