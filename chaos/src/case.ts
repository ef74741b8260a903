import type { ProtectionName } from "../programs/worker-adapter.ts";
import { Stage, type WorkerChoice } from "./harness/stage.ts";

export type Protections = readonly ProtectionName[];

/** The lifeline and the next start alone: `guard: "off"`. */
export const ALONE: Protections = [];
export const WATCHDOG: Protections = ["watchdog"];
/** What a run has by default. */
export const GUARD: Protections = ["guard"];
export const BOTH: Protections = ["watchdog", "guard"];
/** Every choice of protections. */
export const LAYERS: readonly Protections[] = [ALONE, WATCHDOG, GUARD, BOTH];

/** Rounds of a case in the full run. */
export const ROUNDS = 20;

/** The result of one round. */
export interface RoundOutcome {
	/** From the fault to the end of the last process that had to end, in milliseconds. */
	readonly goneMs?: number | undefined;
	/** Processes that had to end and did not. */
	readonly leftovers?: number;
	/** Those processes, each in a few words. */
	readonly left?: readonly string[];
	/** Unrelated processes that were ended. */
	readonly wrongKills?: number;
	/** Workers that were ended although their host was alive. */
	readonly falseKills?: number;
	/** Other promises that were not kept, each a sentence. */
	readonly broken?: readonly string[];
}

/** The parts of a case that do not depend on its protections. */
interface Sketch {
	readonly name: string;
	/** How often a round repeats what it is about: so many rounds fewer are run. */
	readonly perRound?: number;
	/** Rounds that run at the same time: for cases that wait and do not measure times. */
	readonly parallel?: number;
	/** Whether its times are figures, for which it runs alone. */
	readonly timed?: boolean;
	/** Whether it mostly waits, so that it runs beside the others. */
	readonly waits?: boolean;
	/** Why it cannot run on this machine. */
	readonly unavailable?: () => string | undefined;
	/** One round: throws if its situation could not be created. */
	readonly round: (stage: Stage) => Promise<RoundOutcome>;
}

/** One row of the results. */
export interface ChaosCase extends Sketch {
	/** The promise that it belongs to: a table of the page. */
	readonly row: string;
	readonly protections: Protections;
	/** Whether nothing may be left. Without a promise, leftovers are only measured and shown. */
	readonly promise: "kept" | "none";
	/** Whether it is in the selection that runs with the tests. */
	readonly selected: boolean;
}

/** One line of a family's table: a case for each choice of protections. */
export interface Entry extends Sketch {
	/** The protections that it runs with; by default those of the family. */
	readonly with?: readonly Protections[];
	/** The protections with which the promise is kept; by default all. */
	readonly keptWith?: readonly Protections[];
	/** The protections with which it is in the selection that runs with the tests. */
	readonly selected?: Protections;
}

/** The cases of one row of the table of promises. */
export function family(
	row: string,
	withAll: readonly Protections[],
	entries: readonly Entry[],
): readonly ChaosCase[] {
	return entries.flatMap((entry) =>
		(entry.with ?? withAll).map((protections) => ({
			...entry,
			...{ row, protections },
			promise:
				entry.keptWith?.includes(protections) === false ? "none" : "kept",
			selected: entry.selected === protections,
		})),
	);
}

/** The sentence, unless the promise was kept. */
export function unless(kept: boolean, sentence: string): readonly string[] {
	return kept ? [] : [sentence];
}

/** How the rounds of a case are run. */
export interface RunOptions {
	/** How often what the case is about happens, at least. */
	readonly rounds: number;
	readonly seed: number;
	/** Aborted: rounds that have begun finish, the others do not run. */
	readonly interrupted?: AbortSignal;
	readonly workers?: WorkerChoice;
}

/** Runs the rounds of a case. The same seed makes the same choices, whichever cases ran before. */
export async function runCase(
	chaos: ChaosCase,
	{ rounds, seed, interrupted, workers }: RunOptions,
): Promise<readonly RoundOutcome[]> {
	const outcomes: RoundOutcome[] = [];
	const count = Math.ceil(rounds / (chaos.perRound ?? 1));
	await inLanes(chaos.parallel ?? 1, count, async (round) => {
		if (interrupted?.aborted) return;
		await using stage = await Stage.open(
			seedOf(chaos, round, seed),
			chaos.protections,
			workers,
		);
		outcomes[round] = await chaos.round(stage).catch((error: Error) => ({
			broken: [`The round failed: ${error.message}`],
		}));
	});
	return outcomes;
}

/** Runs rounds 0 to count - 1, so many of them at the same time. */
export async function inLanes(
	lanes: number,
	count: number,
	run: (round: number) => Promise<void>,
): Promise<void> {
	let next = 0;
	const lane = async (): Promise<void> => {
		for (let round = next++; round < count; round = next++) await run(round);
	};
	await Promise.all(Array.from({ length: lanes }, lane));
}

/** FNV-1a over what names the round. */
function seedOf(chaos: ChaosCase, round: number, seed: number): number {
	let hash = 0x811c9dc5;
	for (const character of `${seed} ${chaos.name} ${chaos.protections} ${round}`)
		hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
	return hash;
}
