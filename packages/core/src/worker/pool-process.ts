import { join } from "node:path";
import type { Clock } from "../contract/clock.ts";
import { StartError } from "../contract/errors.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type { LaunchSpec, PoolProcessSlot } from "../contract/launch.ts";
import { recordedError } from "../contract/recorded-error.ts";
import { lastCharacters } from "../contract/telling-lines.ts";
import type { StartedProcess, World } from "../contract/world.ts";
import { resolvesWithin, withDeadline } from "../deadline.ts";
import type { ResolvedOptions } from "../options/pool-options.ts";
import { OrphanSweep } from "../process/orphan-sweep.ts";
import { TAIL_CHARACTERS } from "../process/output.ts";
import {
	type InheritedEnvironment,
	type OwnedProcess,
	recordEnd,
	startOwned,
} from "../process/owned-process.ts";
import {
	killerByKernel,
	killerOf,
	type SentSignal,
} from "../process/process-end.ts";
import { KILL_LIMIT_MS } from "../process/stop-ladder.ts";
import { formatLaunchMessage, shakeHands } from "./control-channel.ts";
import { isTimeout, withLastLines } from "./worker-errors.ts";
import { dumpUnreadyStacks, WorkerOutput } from "./worker-output.ts";

/** What a process of a pool is made of: the same as its workers. */
export interface PoolProcessDependencies extends InheritedEnvironment {
	readonly options: ResolvedOptions;
	readonly world: World;
	/** Private; the process gets a directory in it. */
	readonly runDirectory: string;
}

/**
 * A process of a pool that is none of its workers, as a preloaded parent: recorded in
 * the ledger as a worker is, and ended in every way in which one is.
 */
export class PoolProcess {
	/** What the program sent in its ready line; `undefined` without a control channel. */
	readonly ready: unknown;
	readonly #dependencies: PoolProcessDependencies;
	readonly #slot: PoolProcessSlot;
	readonly #owned: OwnedProcess;
	readonly #output: WorkerOutput;
	readonly #sent: SentSignal[] = [];
	#how: "released" | "lost" = "lost";
	/** It cannot die: its row stays. */
	#isLeft = false;

	private constructor(
		dependencies: PoolProcessDependencies,
		slot: PoolProcessSlot,
		owned: OwnedProcess,
		output: WorkerOutput,
		ready: unknown,
	) {
		this.#dependencies = dependencies;
		this.#slot = slot;
		this.#owned = owned;
		this.#output = output;
		this.ready = ready;
	}

	/**
	 * Starts one, and resolves when it is ready.
	 *
	 * @param spec what to execute in this slot.
	 * @param what it is, for people.
	 * @throws StartError saying why it cannot be; nothing is left then.
	 */
	static async start(
		dependencies: PoolProcessDependencies,
		slot: PoolProcessSlot,
		spec: LaunchSpec,
		what: string,
		signal: AbortSignal,
	): Promise<PoolProcess> {
		try {
			return await PoolProcess.#start(dependencies, slot, spec, what, signal);
		} catch (error) {
			const { registry } = dependencies.world;
			if (!signal.aborted) registry.failStart(slot, recordedError(error));
			throw error;
		}
	}

	static async #start(
		dependencies: PoolProcessDependencies,
		slot: PoolProcessSlot,
		spec: LaunchSpec,
		what: string,
		signal: AbortSignal,
	): Promise<PoolProcess> {
		const { options, world } = dependencies;
		const { incarnation, workerId, pool } = slot;
		const endedAs = () => (signal.aborted ? "closed" : "start_failed");
		const owned = await startOwned(
			spec,
			{ ...slot, endedAs },
			dependencies,
			world,
			() => signal.throwIfAborted(),
		);
		const { process } = owned;
		const ref = { pool, workerId, incarnation };
		const output = new WorkerOutput(process, true, ref, options.output, world);
		try {
			const said = await ready(dependencies, slot, spec, what, owned, signal);
			return new PoolProcess(dependencies, slot, owned, output, said);
		} catch (error) {
			if (isTimeout(error)) {
				const { dumpSignal } = spec;
				await dumpUnreadyStacks({ process, output, dumpSignal }, world);
			}
			const sent = process.signal("SIGKILL", "group") === "sent";
			// A process that cannot die keeps its row; nothing waits for it.
			const exit = await exitAfterKill(process, world.clock);
			await output.lastLines();
			output.close();
			const by = "stop_ladder";
			const killer = killerOf(exit, sent ? [{ signal: "SIGKILL", by }] : []);
			const reason = endedAs();
			const tail = lastCharacters(output.tail.lines(), TAIL_CHARACTERS);
			const end = { exit, reason, killer, tail } as const;
			recordEnd(owned, incarnation, end, world);
			sweep(world, incarnation);
			throw withLastLines(error, output.tail.paragraph());
		}
	}

	get process(): StartedProcess {
		return this.#owned.process;
	}

	get pid(): number {
		return this.process.identity.pid;
	}

	/** Whether it ended because it was to. */
	get how(): "released" | "lost" {
		return this.#how;
	}

	/**
	 * Resolves when it is gone and nothing of it is left. Called once; never rejects.
	 *
	 * @param first what ends with it, before anything else.
	 */
	async whenEnded(first: (exit: ProcessExit) => void): Promise<ProcessExit> {
		const { world } = this.#dependencies;
		const { incarnation } = this.#slot;
		const exit = await this.process.exited;
		first(exit);
		// Its run may be over by now.
		if (this.#isLeft) return exit;
		this.process.signal("SIGKILL", "group");
		const reason = this.#how === "released" ? "closed" : "exited";
		const { killer, evidence, note } = await killerByKernel(
			killerOf(exit, this.#sent),
			...([exit, this.process.identity, world.host] as const),
		);
		await this.#output.lastLines();
		const tail =
			reason === "closed"
				? undefined
				: lastCharacters(this.#output.tail.lines(), TAIL_CHARACTERS);
		const detail = evidence ?? note;
		const end = { exit, reason, killer, tail, detail } as const;
		recordEnd(this.#owned, incarnation, end, world);
		this.#output.close();
		sweep(world, incarnation);
		return exit;
	}

	/**
	 * Asks it to end, and kills it with its group when it does not within the time. Resolves when nothing of it is left, or
	 * it cannot die: then it keeps its row and its files, for the next start of any program.
	 *
	 * @param ended its {@link whenEnded}.
	 */
	async release(
		ask: () => void,
		limitMs: number,
		ended: Promise<unknown>,
	): Promise<void> {
		const { process } = this;
		const { world } = this.#dependencies;
		this.#how = "released";
		ask();
		if (!(await resolvesWithin(process.exited, limitMs, world.clock))) {
			this.signal("SIGKILL", "stop_ladder");
			if ((await exitAfterKill(process, world.clock)) === undefined) {
				this.#leave();
				return;
			}
		}
		await ended;
	}

	/** Nothing of one that cannot die holds the program open. */
	#leave(): void {
		this.#isLeft = true;
		const end = { exit: undefined, reason: "closed", killer: "none" } as const;
		recordEnd(
			...([this.#owned, this.#slot.incarnation, end] as const),
			this.#dependencies.world,
		);
		this.#output.close();
	}

	/** Sends a signal to its group. */
	signal(signal: NodeJS.Signals, by: SentSignal["by"]): void {
		const outcome = this.process.signal(signal, "group");
		if (outcome === "sent") this.#sent.push({ signal, by });
		// This program has changed its user: the kernel kills a group that loses its lifeline.
		else if (outcome === "refused" && signal === "SIGKILL")
			this.#owned.lifeline?.close();
	}
}

/** How it ended after SIGKILL; `undefined` if it cannot die. */
async function exitAfterKill(
	process: StartedProcess,
	clock: Clock,
): Promise<ProcessExit | undefined> {
	const gone = await resolvesWithin(process.exited, KILL_LIMIT_MS, clock);
	return gone ? await process.exited : undefined;
}

/** Where the next one of a kind is: beside the slots of its pool. */
export function poolProcessSlot(
	{ options, world: { registry }, runDirectory }: PoolProcessDependencies,
	kind: "preload" | "companion",
): PoolProcessSlot {
	const incarnation = registry.nextIncarnation();
	const name = incarnation.slice(incarnation.lastIndexOf("-") + 1);
	return {
		pool: options.name,
		slots: options.size.max,
		workerId: `${options.name}-${kind}`,
		incarnation,
		runId: registry.runId,
		directory: join(runDirectory, name),
		callsPerWorker: options.callsPerWorker,
		startTimeoutMs: options.start.timeoutMs,
	};
}

/** Launch message and ready line, within the time of a start. */
async function ready(
	{ options, world }: PoolProcessDependencies,
	slot: PoolProcessSlot,
	spec: LaunchSpec,
	what: string,
	{ process, lifeline }: OwnedProcess,
	signal: AbortSignal,
): Promise<unknown> {
	const { clock, random } = world;
	const { workerId } = slot;
	const { timeoutMs } = options.start;
	// A source that is another process takes its time between the record and this.
	signal.throwIfAborted();
	if (process.control === undefined || lifeline === undefined)
		throw new TypeError(
			`${workerId} has no control channel: its launch needs a launchPayload.`,
		);
	const message = formatLaunchMessage(
		slot,
		lifeline.path,
		random.token(),
		spec.launchPayload,
	);
	return await withDeadline(
		shakeHands(process.control, workerId, message, spec.refusalCodes),
		{ clock, ms: timeoutMs, counts: "running", signal },
		() => {
			throw new StartError({
				code: "START_TIMEOUT",
				message: `The ${what} ${workerId} was not ready within ${timeoutMs} ms (start.timeoutMs).`,
			});
		},
	);
}

/** What it started and what left its group ends with it. */
function sweep(world: World, incarnation: string): void {
	const sweep = new OrphanSweep(world);
	sweep.noteEnded(incarnation);
	sweep.finish();
}
