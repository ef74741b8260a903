import type { ProtectionName } from "../programs/worker-adapter.ts";
import type { HostProcess } from "./harness/host-process.ts";
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

/** What one round found. */
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

/** Figures that are published, and shown as met or not met. Milliseconds. */
export interface TimeTarget {
	readonly p50Ms?: number;
	readonly p99Ms?: number;
	readonly maxMs?: number;
	/** The reason of a target that is known not to be met. */
	readonly reason?: string;
}

/** The parts of a case that do not depend on its protections. */
interface Sketch {
	readonly name: string;
	/** Rounds of the full run. */
	readonly rounds: number;
	/** Rounds that run at the same time: for cases that count and do not measure times. */
	readonly parallel?: number;
	readonly target?: TimeTarget;
	/** Whether its times are figures, for which it runs alone. Default: when they have a target. */
	readonly timed?: boolean;
	/** It mostly waits, so it runs beside the others. */
	readonly waits?: boolean;
	/** Why it cannot run on this machine. */
	readonly unavailable?: () => string | undefined;
	/** One round: throws if its situation could not be created. */
	readonly round: (stage: Stage) => Promise<RoundOutcome>;
}

/** One row of the results. */
export interface ChaosCase extends Sketch {
	/** The row of the table of promises that it belongs to. */
	readonly row: string;
	readonly protections: Protections;
	/** Whether nothing may be left. Without a promise, leftovers are only measured and shown. */
	readonly promise: "kept" | "none";
	/** Rounds in the selection that runs with the tests; left out of it without. */
	readonly selected?: number;
}

/** One line of a family's table: a case for each choice of protections. */
export interface Entry extends Sketch {
	/** The protections that it runs with; by default those of the family. */
	readonly with?: readonly Protections[];
	/** The protections with which the promise is kept; by default all. */
	readonly keptWith?: readonly Protections[];
	/** Rounds of the full run where no promise is kept. */
	readonly unkeptRounds?: number;
	/** Rounds in the selection that runs with the tests, with `selectedWith`; by default as a run is by default, where it has that. */
	readonly selected?: number;
	readonly selectedWith?: Protections;
}

/** The cases of one row of the table of promises. */
export function family(
	row: string,
	withAll: readonly Protections[],
	entries: readonly Entry[],
): readonly ChaosCase[] {
	return entries.flatMap((entry) => {
		const { keptWith, selected, selectedWith, unkeptRounds, ...sketch } = entry;
		const choices = entry.with ?? withAll;
		const usual = choices.includes(GUARD) ? GUARD : choices[0];
		return choices.map((protections): ChaosCase => {
			const kept = keptWith?.includes(protections) ?? true;
			return {
				...sketch,
				row,
				protections,
				promise: kept ? "kept" : "none",
				rounds: kept ? entry.rounds : (unkeptRounds ?? 2),
				...(selected !== undefined &&
					protections === (selectedWith ?? usual) && { selected }),
			};
		});
	});
}

/** The sentence, unless the promise was kept. */
export function unless(kept: boolean, sentence: string): readonly string[] {
	return kept ? [] : [sentence];
}

/** The outcome of a round whose host should refuse to start, with this code. */
export async function refusedWith(
	code: string,
	host: HostProcess,
	stage: Stage,
): Promise<RoundOutcome> {
	const actual = await host.fact("refused");
	await host.exited;
	const { leftovers } = await stage.untilGone(performance.now());
	return {
		leftovers,
		broken: unless(
			actual === code,
			`It was refused with ${actual} instead of ${code}.`,
		),
	};
}

/** How the rounds of a case are run. */
export interface RunOptions {
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
	let next = 0;
	const lane = async (): Promise<void> => {
		for (
			let round = next++;
			round < rounds && !interrupted?.aborted;
			round = next++
		) {
			await using stage = await Stage.open(
				seedOf(chaos, round, seed),
				chaos.protections,
				workers,
			);
			outcomes[round] = await chaos.round(stage).catch((error: Error) => ({
				broken: [`The round failed: ${error.message}`],
			}));
		}
	};
	await Promise.all(Array.from({ length: chaos.parallel ?? 1 }, lane));
	return outcomes;
}

/** FNV-1a over what names the round. */
function seedOf(chaos: ChaosCase, round: number, seed: number): number {
	let hash = 0x811c9dc5;
	for (const character of `${seed} ${chaos.name} ${chaos.protections} ${round}`)
		hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
	return hash;
}
