import type {
	LivesReport,
	LivesWanted,
} from "../../programs/random-life/lives.ts";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { Stage } from "../harness/stage.ts";
import { ALONE, withLayers } from "./layers.ts";

/** What many calls end with, if anything is asked of them at all. */
const HAPPENED = ["ok", "left", "CALL_ABORTED", "TOOL_FAILED"];

export const randomLives: readonly ChaosCase[] = [
	{ pools: 2, generations: 1, calls: 80, selected: 1 },
	{ pools: 3, generations: 7, calls: 150 },
].map(({ pools, generations, calls, ...selected }) =>
	withLayers(ALONE, {
		row: "every call ends once and as it may, whatever is asked of pools at random",
		name: `sessions, streams, back-calls, retries, recycling, crashes, a close at any moment; pools: ${pools * generations}`,
		rounds: 3,
		...selected,
		round: (stage) => round(stage, { pools, generations, calls }),
	}),
);

async function round(
	stage: Stage,
	wanted: Omit<LivesWanted, "seed">,
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: 1 });
	const seed = Math.floor(stage.random.fraction() * 2 ** 31);
	host.order({ lives: { seed, ...wanted } });
	const { endings, wrong } = await host.told<LivesReport>("lives");
	const missing = HAPPENED.filter((ending) => !endings[ending]);
	// One pool alone may be closed before much has happened.
	if (wanted.generations > 1 && missing.length > 0)
		throw new Error(
			`No call ended as ${missing.join(", ")}: ${JSON.stringify(endings)}`,
		);
	return {
		broken: wrong.map((what) => `Seed ${seed}: ${what}.`),
		...(await stage.killAfterwards(host)),
	};
}
