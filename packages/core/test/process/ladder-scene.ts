import { expect } from "vitest";
import type { Connection } from "../../src/contract/connection.ts";
import {
	StopLadder,
	type StopListener,
	type StopManner,
	type StopOutcome,
	type StopPlan,
	type StopTarget,
} from "../../src/process/stop-ladder.ts";
import type {
	FakeProcess,
	FakeProgram,
} from "../../src/testing/fake-process.ts";
import {
	type VirtualWorld,
	virtualWorld,
} from "../../src/testing/virtual-pool.ts";

export const KILL_AFTER_MS = 1_000;
export const PLAN: StopPlan = {
	signal: "SIGTERM",
	to: "leader",
	killAfterMs: KILL_AFTER_MS,
};
const idle: FakeProgram = (process) => process.idle();

export interface LadderOptions {
	readonly program?: FakeProgram;
	/** Left out: leaving is not offered. */
	readonly leave?: (process: FakeProcess, signal: AbortSignal) => Promise<void>;
	readonly dumpSignal?: NodeJS.Signals;
	readonly plan?: Partial<StopPlan>;
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
	/** Records what the ladder reports. */
	readonly listener: StopListener;
	/** The signals that the ladder says to have reached the process. */
	readonly sent: readonly NodeJS.Signals[];
	/** The groups that were left alone, with the pids in them. */
	readonly spared: readonly {
		readonly groupId: number;
		readonly pids: readonly number[];
	}[];
	/** The rungs that were reported, with what was sent. */
	rungs(): readonly string[];
}

export async function ladderScene(
	options: LadderOptions = {},
): Promise<LadderScene> {
	const virtual = virtualWorld();
	const { host, world, clock } = virtual;
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
		process: started,
		connection,
		dumpSignal: options.dumpSignal,
	};
	const sent: NodeJS.Signals[] = [];
	const rungs: string[] = [];
	const spared: { groupId: number; pids: readonly number[] }[] = [];
	const listener: StopListener = {
		signalled: (signal) => void sent.push(signal),
		stepped: (step, count) => void rungs.push(`${step} ${count}`),
		spared: (groupId, pids) => void spared.push({ groupId, pids }),
	};
	const ladder = new StopLadder(
		{ ...PLAN, ...options.plan },
		...([world, listener] as const),
	);
	return {
		...virtual,
		process,
		target,
		ladder,
		listener,
		sent,
		spared,
		climb: async (manner = "gentle") => {
			const begunMs = clock.now();
			const outcome = await clock.advanceUntil(ladder.climb(target, manner));
			return { ...outcome, tookMs: clock.now() - begunMs };
		},
		rungs: () => rungs,
	};
}

export const leaves = async (process: FakeProcess): Promise<void> =>
	process.exit(0);
export const stays = (): Promise<never> => new Promise(() => undefined);
