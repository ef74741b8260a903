import type { Adapter } from "../contract/adapter.ts";
import type { Clock } from "../contract/clock.ts";
import { StartError } from "../contract/errors.ts";
import type { ProcessExit, RunId } from "../contract/identity.ts";
import type {
	CompanionSlot,
	LaunchSpec,
	PoolProcessSlot,
	WorkerCompanion,
} from "../contract/launch.ts";
import type { CloseManner } from "../contract/run-and-worker-states.ts";
import type { ProcessHost } from "../contract/world.ts";
import { abortable, pause, resolvesWithin } from "../deadline.ts";
import { outbox } from "../outbox.ts";
import { awaitLaunch, checkedLaunch } from "../worker/adapter-checks.ts";
import type { Companions, TiedCompanion } from "../worker/companion-loss.ts";
import {
	PoolProcess,
	type PoolProcessDependencies,
	poolProcessSlot,
} from "../worker/pool-process.ts";
import {
	backoffMs,
	MOST_FAILED_STARTS,
	PROVEN_MS,
} from "../worker/restarts.ts";
import { asStartError, notSpawned } from "../worker/worker-errors.ts";

type Describe = (
	slot: CompanionSlot,
	signal: AbortSignal,
) => LaunchSpec | Promise<LaunchSpec>;

/**
 * The keeper of the companion of a pool; `undefined` where its adapter has none.
 *
 * @param runsElsewhere of which the first companion may find out something.
 */
export function companionKeeper(
	adapter: Adapter,
	setting: PoolProcessDependencies,
	runsElsewhere: readonly RunId[],
): CompanionKeeper | undefined {
	if (adapter.companion === undefined) return undefined;
	return new CompanionKeeper(
		adapter,
		adapter.companion.bind(adapter),
		setting,
		runsElsewhere,
	);
}

/** The companion of a pool: started before its workers, started anew when it is lost, ended after them. */
export class CompanionKeeper implements Companions {
	readonly #adapter: Pick<Adapter, "name" | "located">;
	readonly #describe: Describe;
	readonly #setting: PoolProcessDependencies;
	readonly #runsElsewhere: readonly RunId[];
	readonly #closing = new AbortController();
	/** The one that runs, or that will. */
	#next: Promise<RunningCompanion> | undefined;
	#latest: RunningCompanion | undefined;
	#started = 0;
	#shortLives = 0;
	#failWaiting: (error: StartError) => void = () => {};

	constructor(
		adapter: Pick<Adapter, "name" | "located">,
		describe: Describe,
		setting: PoolProcessDependencies,
		runsElsewhere: readonly RunId[],
	) {
		this.#adapter = adapter;
		this.#describe = describe;
		this.#setting = setting;
		this.#runsElsewhere = runsElsewhere;
	}

	/**
	 * Starts the first one.
	 *
	 * @param failWaiting called later, when a lost one could not be started anew again and again.
	 * @throws StartError why it cannot be started; nothing of it is left then.
	 */
	async open(failWaiting: (error: StartError) => void): Promise<void> {
		this.#failWaiting = failWaiting;
		const { facts } = await this.#follow(this.#start());
		const { clock, emit } = this.#setting.world;
		for (const { runId, ...owner } of this.#adapter.located?.(facts) ?? [])
			emit({
				type: "run.located",
				wallMs: clock.wall(),
				ofRun: runId,
				...owner,
			});
	}

	async running(signal: AbortSignal): Promise<TiedCompanion> {
		const never = new Promise<never>(() => {});
		return await abortable(this.#next ?? never, signal);
	}

	/** Ends it; resolves when nothing of it is left. A second call that is forced kills what the first still waits for. */
	async release(manner: CloseManner): Promise<void> {
		const { killAfterMs } = this.#setting.options.stop;
		this.#closing.abort(
			new StartError({
				code: "START_WITHDRAWN",
				message: `The companion of pool ${this.#setting.options.name} was ended before it was ready, because its pool is closing.`,
			}),
		);
		await this.#next?.then(
			(companion) => companion.end(manner, killAfterMs),
			// There is none any more; what the last one left may not be gone yet.
			async () => void (await this.#latest?.ended),
		);
	}

	/** Kills it in this very turn; one that only starts dies with this program. */
	killNow(): void {
		this.#latest?.killNow();
	}

	#follow(next: Promise<RunningCompanion>): Promise<RunningCompanion> {
		next.catch(() => {}); // Those who wait for it get the reason.
		this.#next = next;
		return next;
	}

	async #start(): Promise<RunningCompanion> {
		const { options, world } = this.#setting;
		const { clock, emit } = world;
		const begunMs = clock.now();
		const restarts = this.#started;
		const slot = {
			...poolProcessSlot(this.#setting, "companion"),
			runsElsewhere: restarts === 0 ? this.#runsElsewhere : [],
		};
		let own: PoolProcess;
		try {
			const spec = await this.#specFor(slot);
			own = await PoolProcess.start(
				...([this.#setting, slot, spec, "companion"] as const),
				this.#closing.signal,
			);
		} catch (error) {
			throw notSpawned(error, { slot });
		}
		this.#started++;
		const readyMs = clock.now();
		const companion = new RunningCompanion(own, slot, world);
		this.#latest = companion;
		const about = { pool: options.name, pid: own.pid };
		outbox.during(() => {
			emit({
				type: "companion.started",
				wallMs: clock.wall(),
				...about,
				durationMs: readyMs - begunMs,
				restarts,
			});
			companion.whenGone(() => this.#lost(clock.now() - readyMs));
		});
		void companion.ended.then((exit) => {
			const { how } = companion;
			const wallMs = clock.wall();
			emit({ type: "companion.ended", wallMs, ...about, exit, how });
		});
		return companion;
	}

	async #specFor(slot: CompanionSlot): Promise<LaunchSpec> {
		const { options, world } = this.#setting;
		const startAbort = new AbortController();
		const closed = (): void => startAbort.abort(this.#closing.signal.reason);
		if (this.#closing.signal.aborted) closed();
		this.#closing.signal.addEventListener("abort", closed);
		try {
			const answer = this.#describe(slot, startAbort.signal);
			const spec = await awaitLaunch(
				Promise.resolve(answer),
				{ startAbort, slot },
				options.start.timeoutMs,
				world.clock,
				"companion",
			);
			return checkedLaunch(this.#adapter.name, spec, "companion");
		} finally {
			this.#closing.signal.removeEventListener("abort", closed);
		}
	}

	#lost(livedMs: number): void {
		if (this.#closing.signal.aborted) return;
		this.#shortLives = livedMs < PROVEN_MS ? this.#shortLives + 1 : 1;
		void this.#follow(this.#again());
	}

	/** @throws the reason why there will be none: the pool is closed. */
	async #again(): Promise<RunningCompanion> {
		for (let failures = 0; ; ) {
			await this.#pause(this.#shortLives + failures);
			try {
				return await this.#start();
			} catch (error) {
				if (this.#closing.signal.aborted) throw error;
				failures++;
				this.#unavailable(error, failures);
			}
		}
	}

	#unavailable(thrown: unknown, failures: number): void {
		const { options, world } = this.#setting;
		const error = asStartError(thrown);
		outbox.during(() => {
			world.emit({
				type: "companion.unavailable",
				wallMs: world.clock.wall(),
				pool: options.name,
				code: error.code,
				reason: error.message,
				failures,
			});
			if (failures >= MOST_FAILED_STARTS) this.#failWaiting(error);
		});
	}

	async #pause(failures: number): Promise<void> {
		const { options, world } = this.#setting;
		const { signal } = this.#closing;
		const { backoffMs: firstMs, maxBackoffMs } = options.start;
		const ms = backoffMs(
			...([failures, firstMs, maxBackoffMs] as const),
			world.random.fraction(),
		);
		await pause(world.clock, ms, signal);
	}
}

/** A companion that was ready, until nothing of it is left. */
class RunningCompanion implements TiedCompanion {
	readonly facts: WorkerCompanion;
	/** Resolves when nothing of it is left. Never rejects. */
	readonly ended: Promise<ProcessExit>;
	readonly #own: PoolProcess;
	readonly #clock: Clock;
	readonly #host: ProcessHost;
	readonly #followers = new Set<(exit: ProcessExit) => void>();
	#exit: ProcessExit | undefined;

	constructor(
		own: PoolProcess,
		{ incarnation, directory }: PoolProcessSlot,
		{ clock, host }: { readonly clock: Clock; readonly host: ProcessHost },
	) {
		const { pid, ready } = own;
		this.facts = { incarnation, directory, pid, ready };
		this.#own = own;
		this.#clock = clock;
		this.#host = host;
		this.ended = own.whenEnded((exit) => {
			this.#exit = exit;
			outbox.during(() => {
				for (const follow of this.#followers) follow(exit);
			});
		});
	}

	/** Whether it ended because it was to. */
	get how(): "released" | "lost" {
		return this.#own.how;
	}

	whenGone(action: (exit: ProcessExit) => void): () => void {
		if (this.#exit !== undefined) action(this.#exit);
		this.#followers.add(action);
		return () => this.#followers.delete(action);
	}

	async endWithin(ms: number): Promise<ProcessExit | undefined> {
		await resolvesWithin(this.#own.process.exited, ms, this.#clock);
		return this.#exit;
	}

	isEnding(): boolean {
		if (this.#exit !== undefined) return true;
		const facts = this.#host.facts(this.facts.pid);
		// A process that ends gives its memory back before its sockets are closed.
		return facts?.condition !== "alive" || facts.residentBytes === 0;
	}

	/** Ends it; resolves when nothing of it is left, or it cannot die. A second call that is forced kills it. */
	end(manner: CloseManner, killAfterMs: number): Promise<void> {
		const signal = manner === "gentle" ? "SIGTERM" : "SIGKILL";
		return this.#own.release(
			() => this.#own.signal(signal, "stop_ladder"),
			...([killAfterMs, this.ended] as const),
		);
	}

	/** Kills it with its group in this very turn, for the exit of the host. */
	killNow(): void {
		this.#own.signal("SIGKILL", "application_cleanup");
	}
}
