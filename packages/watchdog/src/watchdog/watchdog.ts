import { clearInterval, setInterval } from "node:timers";
import {
	type Clock,
	endIfCopy,
	type ProcessExit,
	type RunId,
	type Timer,
} from "@snakepit/core/infrastructure";
import {
	type Engagement,
	type LayerReport,
	type Protection,
	type ProtectionContext,
	ProtectionUnavailable,
	type WatchedWorker,
} from "@snakepit/core/protection";
import { formatMessage, type HostMessage } from "./message.ts";
import {
	type ResolvedWatchdogOptions,
	resolveWatchdogOptions,
	type WatchdogOptions,
} from "./options.ts";
import {
	findNode,
	nodeSearch,
	type StartWatchdog,
	startWatchdog,
	type WatchdogProcess,
} from "./watchdog-process.ts";

/** One run that is protected. */
interface Protected {
	readonly context: ProtectionContext;
	readonly options: ResolvedWatchdogOptions;
	/** The executable of Node. */
	readonly node: string;
	/** Whether a watchdog has listened for it: until then, a failing start is the answer to its request, and not repeated. */
	isEngaged: boolean;
	/** How many watchdogs it has had. */
	starts: number;
	/** The watchdog whose start was reported and whose end was not. */
	reported: WatchdogProcess | undefined;
}

interface Running {
	readonly kind: "running";
	readonly process: WatchdogProcess;
	readonly startedAt: number;
	/** Resolves when it listens, with the duration of its start. */
	readonly readyMs: Promise<number>;
}

type State =
	/** There is nothing to protect. */
	| { readonly kind: "idle" }
	| Running
	/** It died, and another one will be started. */
	| { readonly kind: "waiting"; readonly timer: Timer };

const NAME = "watchdog";
/** A watchdog listens within a second; on a machine without a free processor, it may take much longer. */
const READY_LIMIT_MS = 60_000;
/** A watchdog that has read the end of the pipe ends within milliseconds. */
const FAREWELL_MS = 5_000;

const FIRST_MS = 100;
const LONGEST_MS = 10_000;
/** After this time, the next death counts as the first again. */
const STABLE_MS = 60_000;
/** After this many deaths in a row, the watchdog is reported as unavailable. */
const REPORTED_DEATHS = 5;

/**
 * How long to wait before a watchdog is started again, in milliseconds: not at
 * all after the first death, then twice as long each time, up to ten seconds.
 *
 * @param deaths how many died in a row, this one included.
 */
export function restartDelay(deaths: number): number {
	if (deaths <= 1) return 0;
	return Math.min(FIRST_MS * 2 ** (deaths - 2), LONGEST_MS);
}

/** Keeps one watchdog for all runs of this process, and starts another one when it dies. */
export class WatchdogKeeper {
	readonly #start: StartWatchdog;
	readonly #runs = new Map<RunId, Protected>();
	#state: State = { kind: "idle" };
	/** In a row. */
	#deaths = 0;

	constructor(start: StartWatchdog) {
		this.#start = start;
	}

	/**
	 * Protects a run; resolves when its watchdog listens.
	 *
	 * @param node the executable of Node.
	 * @throws Error with the reason why there is no watchdog; nothing is left behind then.
	 */
	async protect(
		context: ProtectionContext,
		options: ResolvedWatchdogOptions,
		node: string,
	): Promise<Engagement> {
		const { runId } = context;
		const run: Protected = {
			...{ context, options, node },
			...{ isEngaged: false, starts: 0, reported: undefined },
		};
		this.#runs.set(runId, run);
		const release = context.host.keepAlive();
		try {
			if (this.#state.kind === "running") this.#introduce(run);
			const running =
				this.#state.kind === "running"
					? this.#state
					: this.#begin(context.clock, node);
			const readyMs = await running.readyMs;
			run.isEngaged = true;
			this.#reportStarted(run, running.process, readyMs);
		} catch (error) {
			await this.#release(run);
			// The others waited for this start.
			if (this.#state.kind === "idle" && this.#oldest !== undefined)
				this.#again(context.clock, (error as Error).message);
			throw error;
		} finally {
			release();
		}
		return {
			watch: (worker) => this.#watch(runId, worker),
			unwatch: (incarnation) =>
				this.#send({ type: "unwatch", runId, incarnation }),
			release: () => this.#release(run),
		};
	}

	/** @throws Error if the system cannot start it. */
	#begin(clock: Clock, node: string): Running {
		if (this.#state.kind === "waiting") this.#state.timer.cancel();
		this.#state = { kind: "idle" };
		const startedAt = clock.now();
		const process = this.#start(node);
		let isLate = false;
		const limit = clock.after(READY_LIMIT_MS, () => {
			isLate = true;
			process.kill();
		});
		const readyMs = process.ready
			.finally(() => limit.cancel())
			.then(
				() => clock.now() - startedAt,
				(error: unknown) => {
					if (!isLate) throw error;
					throw new Error(
						`${node} did not start the watchdog within ${READY_LIMIT_MS / 1000} s.`,
					);
				},
			);
		readyMs.catch(() => {}); // `exited` reports its end.
		const running: Running = { kind: "running", process, startedAt, readyMs };
		this.#state = running;
		for (const run of this.#runs.values()) this.#introduce(run);
		void process.exited.then((exit) => this.#ended(process, exit));
		return running;
	}

	/** Sends the run and every living worker to the watchdog. */
	#introduce({ context, options }: Protected): void {
		const { runId, host, marker, dataDir, runDirectory } = context;
		const { graceMs, checkIntervalMs } = options;
		this.#send({
			type: "run",
			runId,
			owner: host.self,
			marker,
			dataDir,
			runDirectory,
			graceMs,
			checkIntervalMs,
		});
		for (const { incarnation, identity, groupId } of context.living())
			if (identity !== undefined && groupId !== undefined)
				this.#watch(runId, { incarnation, identity, groupId });
	}

	#watch(
		runId: RunId,
		{ incarnation, identity, groupId }: WatchedWorker,
	): void {
		this.#send({ type: "watch", runId, incarnation, identity, groupId });
	}

	#send(message: HostMessage): void {
		if (this.#state.kind === "running")
			this.#state.process.send(formatMessage(message));
	}

	#reportStarted(
		run: Protected,
		process: WatchdogProcess,
		durationMs: number,
	): void {
		const isOver =
			this.#runs.get(run.context.runId) !== run ||
			this.#state.kind !== "running" ||
			this.#state.process !== process;
		if (isOver || run.reported === process) return;
		run.reported = process;
		run.starts += 1;
		run.context.emit({
			type: "protection.started",
			wallMs: run.context.clock.wall(),
			protection: NAME,
			pid: process.pid,
			durationMs,
			restarts: run.starts - 1,
		});
	}

	#reportEnded(
		run: Protected,
		exit: ProcessExit | undefined,
		how: "released" | "lost",
	): void {
		if (run.reported === undefined) return;
		const { pid } = run.reported;
		run.reported = undefined;
		run.context.emit({
			type: "protection.ended",
			wallMs: run.context.clock.wall(),
			protection: NAME,
			pid,
			exit,
			how,
		});
	}

	/** The process of a watchdog has ended. */
	#ended(process: WatchdogProcess, exit: ProcessExit): void {
		if (this.#state.kind !== "running" || this.#state.process !== process)
			return;
		const { startedAt } = this.#state;
		this.#state = { kind: "idle" };
		const clock = this.#oldest?.context.clock;
		if (clock === undefined) return;
		if (clock.now() - startedAt >= STABLE_MS) this.#deaths = 0;
		for (const run of this.#runs.values()) this.#reportEnded(run, exit, "lost");
		const how =
			exit.kind === "code" ? `with code ${exit.code}` : `by ${exit.signal}`;
		this.#again(clock, `it ended ${how}`);
	}

	/** Starts another one, after a delay if that has failed before. */
	#again(clock: Clock, reason: string): void {
		this.#deaths += 1;
		if (this.#deaths === REPORTED_DEATHS)
			for (const { context } of this.#runs.values())
				context.emit({
					type: "protection.unavailable",
					wallMs: context.clock.wall(),
					protection: NAME,
					reason: `The watchdog died ${this.#deaths} times in a row, the last time because ${reason}. Snakepit starts it again, with growing delays.`,
				});
		const restart = (): void => this.#restart(clock);
		const delayMs = restartDelay(this.#deaths);
		if (delayMs === 0) {
			restart();
			return;
		}
		this.#state = { kind: "waiting", timer: clock.after(delayMs, restart) };
	}

	/** Of the runs that have had a watchdog: its Node runs the next one. */
	get #oldest(): Protected | undefined {
		return [...this.#runs.values()].find(({ isEngaged }) => isEngaged);
	}

	#restart(clock: Clock): void {
		const node = this.#oldest?.node;
		if (node === undefined) return;
		try {
			const { process, readyMs } = this.#begin(clock, node);
			void readyMs
				.then((durationMs) => {
					for (const run of this.#runs.values())
						this.#reportStarted(run, process, durationMs);
				})
				.catch(() => {});
		} catch (error) {
			this.#again(clock, (error as Error).message);
		}
	}

	/** Resolves when nothing of the watchdog is left for this run. */
	async #release(run: Protected): Promise<void> {
		const { runId, host, clock } = run.context;
		if (this.#runs.get(runId) !== run) return;
		this.#send({ type: "farewell", runId });
		this.#runs.delete(runId);
		if (this.#runs.size > 0)
			return this.#reportEnded(run, undefined, "released");
		const state = this.#state;
		this.#state = { kind: "idle" };
		this.#deaths = 0;
		if (state.kind === "waiting") state.timer.cancel();
		if (state.kind !== "running") return;
		const release = host.keepAlive();
		state.process.end();
		const deadline = clock.after(FAREWELL_MS, () => state.process.kill());
		const exit = await state.process.exited;
		deadline.cancel();
		release();
		this.#reportEnded(run, exit, "released");
	}
}

endIfCopy();

/** By the value of the option `node`: each Node is proven once. */
const provenNodes = new Map<string | undefined, Promise<string>>();

function provenNode(named: string | undefined): Promise<string> {
	const known = provenNodes.get(named);
	if (known !== undefined) return known;
	const node = findNode(nodeSearch(named));
	provenNodes.set(named, node);
	node.catch(() => provenNodes.delete(named)); // It may be installed later.
	return node;
}

/** One for this process, or for each of its threads: a pipe belongs to a thread. */
const keeper = new WatchdogKeeper(startWatchdog);

/**
 * A process beside this program that ends its workers, of any kind, when the
 * program is killed: one for all pools, with no code in the workers.
 *
 * `openRun({ protections: [watchdog()] })`, or `createPool`. If it cannot be
 * started the run opens without it, with the event `protection.unavailable`; with
 * `whenUnavailable: "refuse"` that throws StartError `PROTECTION_UNAVAILABLE`.
 *
 * @throws OptionsError naming the option that is wrong.
 */
export function watchdog(options: WatchdogOptions = {}): Protection {
	const resolved = resolveWatchdogOptions(options);
	return {
		name: "watchdog",
		whenUnavailable: resolved.whenUnavailable,
		settings: { ...resolved },
		inspect: () => inspect(resolved.node),
		engage: async (context: ProtectionContext) =>
			keeper.protect(context, resolved, await provenNode(resolved.node)),
	};
}

/** Starts one, and ends it again. */
async function inspect(named: string | undefined): Promise<LayerReport> {
	// A watchdog never keeps the program running.
	const holdOpen = setInterval(() => {}, 2 ** 30);
	try {
		const started = startWatchdog(await provenNode(named));
		try {
			await started.ready;
		} finally {
			started.end();
			await started.exited;
		}
		return {
			layer: "watchdog",
			status: "available",
			detail:
				"when the program is killed, a separate process kills its workers, their groups and every process with the run's marker",
		};
	} catch (error) {
		const missing = error instanceof ProtectionUnavailable;
		return {
			layer: "watchdog",
			status: "unavailable",
			detail: missing ? error.reason : (error as Error).message,
			remedy: missing
				? error.remedy
				: `Node must be able to start a program of the installed package @snakepit/watchdog.`,
		};
	} finally {
		clearInterval(holdOpen);
	}
}
