import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PYTHON } from "../worker-adapter.ts";
import { type LifeReport, live } from "./life.ts";

/** What came of several pools that lived side by side, one generation after the other. */
export interface LivesReport {
	readonly endings: Readonly<Record<string, number>>;
	readonly wrong: readonly string[];
}

export interface LivesWanted {
	readonly seed: number;
	/** Calls of each pool. */
	readonly calls: number;
	/** Pools at once. */
	readonly pools: number;
	readonly generations: number;
}

const TOOLS = fileURLToPath(new URL("./tools.py", import.meta.url));

/** @param place where the journal of the tools is written. */
export async function liveAtRandom(
	{ seed, calls, pools, generations }: LivesWanted,
	dataDir: string,
	place: string,
): Promise<LivesReport> {
	const journal = join(place, "journal");
	writeFileSync(journal, "");
	const endings: Record<string, number> = {};
	const wrong: string[] = [];
	const before = listeners();
	for (let generation = 0; generation < generations; generation++) {
		const reports = await Promise.all(
			Array.from({ length: pools }, (_, index) =>
				live({
					...{ calls, dataDir, journal },
					seed: seed + generation * pools + index,
					name: `life-${seed}-${generation}-${index}`,
					python: PYTHON,
					tools: TOOLS,
				}),
			),
		);
		for (const report of reports) {
			wrong.push(...told(report));
			for (const [ending, times] of Object.entries(report.endings))
				endings[ending] = (endings[ending] ?? 0) + times;
		}
	}
	const after = listeners();
	if (after > before)
		wrong.push(`${before} listeners of the process became ${after}`);
	return { endings, wrong };
}

function told({ wrong, chosen, ends }: LifeReport): readonly string[] {
	if (wrong.length === 0) return [];
	return [...wrong, JSON.stringify(chosen), ...ends];
}

function listeners(): number {
	return process
		.eventNames()
		.reduce((sum, name) => sum + process.listenerCount(name), 0);
}
