import { SeededRandom } from "@snakepit/core/testing";
import type { ChaosCase, RoundOutcome } from "./chaos-case.ts";
import { Stage, type WorkerChoice } from "./stage.ts";

/** A case with the outcome of every round. */
export interface RanCase {
	readonly case: ChaosCase;
	readonly outcomes: readonly RoundOutcome[];
	/** Why it did not run. */
	readonly skipped: string | undefined;
	readonly tookMs: number;
}

/** Runs the rounds of a case. The same seed makes the same choices, whichever cases ran before. */
export async function runCase(
	chaos: ChaosCase,
	rounds: number,
	seed: number,
	interrupted: AbortSignal = new AbortController().signal,
	workers: WorkerChoice = {},
): Promise<RanCase> {
	const startedAt = performance.now();
	const skipped = interrupted.aborted
		? "the run was interrupted before"
		: chaos.unavailable?.();
	const outcomes: RoundOutcome[] = [];
	let next = 0;
	const lane = async (): Promise<void> => {
		for (
			let round = next++;
			round < rounds && !interrupted.aborted;
			round = next++
		)
			outcomes[round] = await runRound(
				chaos,
				seedOf(chaos, round, seed),
				workers,
			);
	};
	if (skipped === undefined)
		await Promise.all(Array.from({ length: chaos.parallel ?? 1 }, lane));
	const tookMs = performance.now() - startedAt;
	return { case: chaos, outcomes, skipped, tookMs };
}

async function runRound(
	chaos: ChaosCase,
	seed: number,
	workers: WorkerChoice,
): Promise<RoundOutcome> {
	await using stage = await Stage.open(
		new SeededRandom(seed),
		chaos.protections,
		workers,
	);
	try {
		return await chaos.round(stage);
	} catch (error) {
		return { broken: [`The round failed: ${(error as Error).message}`] };
	}
}

/** FNV-1a over what names the round. */
function seedOf(chaos: ChaosCase, round: number, seed: number): number {
	let hash = 0x811c9dc5;
	for (const character of `${seed} ${chaos.name} ${chaos.protections} ${round}`)
		hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
	return hash;
}
