import { expect, test } from "vitest";
import { rows } from "../../scripts/test-effort.ts";
import { testWorkers } from "../../scripts/test-workers.ts";
import { runCase } from "../src/case.ts";
import { CASES } from "../src/cases.ts";
import { summarize } from "../src/report.ts";

/** The full run has its own; this one is the same on every machine. */
const SEED = 1;

/** Rows that `test` leaves out: a test with real processes in a package shows the same, for fewer moments. */
const TESTED_IN_PACKAGES = /^(SIGKILL of|a living host|hosts on one ledger)/;

// `test` runs the first case of each other row, `check` and `chaos --selection` run them all.
const selected = CASES.filter((chaos) => chaos.selected);
const selection = rows(
	selected,
	(chaos) =>
		!TESTED_IN_PACKAGES.test(chaos.row) &&
		chaos === selected.find(({ row }) => row === chaos.row),
);

// Side by side: much of it is waiting, and no time is judged here.
test.concurrent.for(
	selection.map((chaos) => ({
		...chaos,
		with: chaos.protections.join(" and ") || "no protection",
		chaos,
	})),
)(
	"$row, $name, with $with: nothing is left that must not be",
	{ timeout: 300_000 },
	async ({ chaos }, { skip }) => {
		const unavailable = chaos.unavailable?.();
		if (unavailable !== undefined) skip(unavailable);
		const outcomes = await runCase(chaos, {
			...{ rounds: 1, seed: SEED, workers: testWorkers() },
		});
		const { leftovers, wrongKills, falseKills, broken } = summarize(
			chaos,
			outcomes,
		);
		expect({ leftovers, wrongKills, falseKills, broken }).toEqual({
			...{ leftovers: 0, wrongKills: 0, falseKills: 0, broken: [] },
		});
	},
);
