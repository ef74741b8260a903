import { expect } from "vitest";
import type { Connection } from "../../src/adapter.ts";
import {
	type FakeProcess,
	type FakeProgram,
	type VirtualWorld,
	virtualWorld,
} from "../../src/testing.ts";
import {
	StopLadder,
	type StopManner,
	type StopOutcome,
	type StopTarget,
} from "../../src/worker/stop-ladder.ts";

export const KILL_AFTER_MS = 1_000;
const idle: FakeProgram = (process) => process.idle();

export interface LadderOptions {
	readonly program?: FakeProgram;
	/** Left out: leaving is not offered. */
	readonly leave?: (process: FakeProcess, signal: AbortSignal) => Promise<void>;
	readonly dumpSignal?: NodeJS.Signals;
}

/** One process at the foot of its ladder. */
export interface LadderScene extends VirtualWorld {
	readonly process: FakeProcess;
	readonly target: StopTarget;
	readonly ladder: StopLadder;
	/** Climbs to the end, and says what came of it and when. */
	climb(
		manner?: StopManner,
	): Promise<StopOutcome & { readonly tookMs: number }>;
	/** The signals that the ladder says to have reached the worker. */
	readonly sent: readonly NodeJS.Signals[];
	/** The rungs that were reported, with what was sent. */
	rungs(): readonly string[];
}

export async function ladderScene(
	options: LadderOptions = {},
): Promise<LadderScene> {
	const virtual = virtualWorld();
	const { host, world, clock, events } = virtual;
	host.install("program", options.program ?? idle);
	const started = await host.source.start(
		{
			executable: "program",
			args: [],
			env: {},
			cwd: undefined,
			stdin: "empty",
			control: false,
		},
		() => undefined,
	);
	await clock.settle();
	const process = host.started[0] as FakeProcess;
	const { leave } = options;
	const connection: Connection = {
		execute: () => expect.unreachable(),
		...(leave && { leave: (signal) => leave(process, signal) }),
		[Symbol.asyncDispose]: async () => undefined,
	};
	const target: StopTarget = {
		ref: { pool: "p", workerId: "p-0", incarnation: "r-1" },
		process: started,
		connection,
		dumpSignal: options.dumpSignal,
	};
	const sent: NodeJS.Signals[] = [];
	const ladder = new StopLadder(KILL_AFTER_MS, world, (signal) =>
		sent.push(signal),
	);
	return {
		...virtual,
		process,
		target,
		ladder,
		sent,
		climb: async (manner = "gentle") => {
			const begunMs = clock.now();
			const outcome = await clock.advanceUntil(ladder.climb(target, manner));
			return { ...outcome, tookMs: clock.now() - begunMs };
		},
		rungs: () =>
			events.of("worker.stop_step").map(({ step, sent }) => `${step} ${sent}`),
	};
}

export const leaves = async (process: FakeProcess): Promise<void> =>
	process.exit(0);
export const stays = (): Promise<never> => new Promise(() => undefined);
