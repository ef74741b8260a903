import { AsyncResource } from "node:async_hooks";
import type { CutCalls } from "@snakepit/control/server";
import type { ReloadablePool } from "../contract/adapter.ts";
import type {
	Afterwards,
	CloseManner,
} from "../contract/run-and-worker-states.ts";
import { asError } from "../contract/thrown.ts";
import { outbox } from "../outbox.ts";
import { stillThere } from "../process/process-end.ts";
import type { Call } from "./calls/call.ts";
import { closedWhileOpening, cutByClose } from "./calls/call-errors.ts";
import { CONTROL_DEFAULTS } from "./pool-control.ts";
import type { PoolInternals } from "./pool-internals.ts";

type LifeState =
	| { readonly kind: "starting" }
	| { readonly kind: "open" }
	| {
			readonly kind: "closing";
			readonly closed: Promise<void>;
			/** A pool that was never started has no end to report. */
			readonly events: "reported" | "silent";
	  };

/** The beginning and the end of one pool, in order and once. */
export class PoolLife {
	readonly #internals: PoolInternals;
	#state: LifeState = { kind: "starting" };
	#afterwards: Afterwards = "goes_on";
	#endWatch: () => void = () => {};
	/** Of its close, and of a second one that hurries it. */
	#manner: CloseManner = "gentle";
	/** The calls that its close has ended. */
	cut: CutCalls = { count: 0, calls: [] };
	/** Aborted when the pool is closed. */
	readonly #preparing = new AbortController();

	constructor(internals: PoolInternals) {
		this.#internals = internals;
	}

	get phase(): LifeState["kind"] {
		return this.#state.kind;
	}

	get isClosing(): boolean {
		return this.#state.kind === "closing";
	}

	/** Prepares the adapter and starts the minimum of workers; ends everything again when that fails. */
	async open(): Promise<void> {
		const { options, world, hub } = this.#internals;
		const { emit } = hub;
		const pool = options.name;
		const { workerSet, companion, calls } = this.#internals;
		const { adapter } = options;
		const { clock } = world;
		const about = { pool, adapter: adapter.name };
		const begunMs = clock.now();
		const releaseHost = world.host.keepAlive();
		try {
			await adapter.prepare?.(this.#preparing.signal);
			if (this.isClosing) throw closedWhileOpening(pool);
			for (const note of adapter.notes?.() ?? []) {
				const wallMs = clock.wall();
				emit({ type: "pool.adapter_noted", wallMs, ...about, note });
			}
			if (this.isClosing) throw closedWhileOpening(pool);
			await companion?.open((error) => calls.failWaiting(error));
			if (this.isClosing) throw closedWhileOpening(pool);
			await workerSet.open();
			if (this.isClosing) throw closedWhileOpening(pool);
			// Before a listener is notified that it is open, and may close it.
			this.#endWatch =
				adapter.watch?.(reloadableIn(workerSet)) ?? this.#endWatch;
		} catch (error) {
			const shown = asError(error);
			const wallMs = clock.wall();
			emit({ type: "pool.start_failed", wallMs, ...about, error: shown });
			if (this.#state.kind === "closing") await this.#state.closed;
			// What is left is reported by event; why it did not open is what is thrown.
			else await this.close("forced").catch(() => {});
			if (this.#afterwards === "dies") await forever(releaseHost);
			throw error;
		} finally {
			releaseHost();
		}
		this.#state = { kind: "open" };
		emit({
			type: "pool.started",
			wallMs: clock.wall(),
			...about,
			workers: workerSet.workers().length,
			durationMs: clock.now() - begunMs,
		});
	}

	/** Idempotent; a second call that is forced kills what the first still waits for, and one that waits less shortens its wait. */
	close(
		manner: CloseManner,
		drainMs?: number,
		afterwards: Afterwards = "goes_on",
		by: string = CONTROL_DEFAULTS.by,
	): Promise<void> {
		return outbox.during(() => this.#close(manner, drainMs, afterwards, by));
	}

	#close(
		manner: CloseManner,
		drainMs: number | undefined,
		afterwards: Afterwards,
		by: string,
	): Promise<void> {
		const { options, workerSet, companion, calls } = this.#internals;
		if (afterwards === "dies") {
			this.#afterwards = "dies";
			calls.die();
		}
		const state = this.#state;
		if (state.kind === "closing") {
			if (state.events === "reported") this.#reportHurry(manner, drainMs, by);
			if (manner === "forced") {
				this.#manner = manner;
				// Without workers no call that waits would have its turn.
				calls.outstanding.endDrain();
				void workerSet.close("forced").then(() => companion?.release("forced"));
			} else if (drainMs !== undefined) calls.outstanding.drainWithin(drainMs);
			return state.closed;
		}
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		this.#preparing.abort();
		this.#endWatch();
		const events = state.kind === "open" ? "reported" : "silent";
		this.#state = { kind: "closing", closed: promise, events };
		this.#manner = manner;
		const givenMs = manner === "gentle" ? (drainMs ?? options.stop.drainMs) : 0;
		this.#end(manner, givenMs, by, events).then(resolve, reject);
		return promise;
	}

	/** A close that changes nothing is not reported: it only waits for the one under way. */
	#reportHurry(
		manner: CloseManner,
		drainMs: number | undefined,
		by: string,
	): void {
		const isForced = manner === "forced";
		if (isForced ? this.#manner === "forced" : drainMs === undefined) return;
		const { options, world, hub } = this.#internals;
		hub.emit({
			...{ type: "pool.close_hurried", wallMs: world.clock.wall() },
			...{ pool: options.name, by, manner },
			drainMs: isForced ? 0 : (drainMs ?? 0),
		});
	}

	/** Sends calls to workers again. Does nothing when they are sent. */
	resume(by: string): void {
		const { options, world, hub, calls } = this.#internals;
		if (!calls.placement.isPaused) return;
		outbox.during(() => {
			// Before the calls that it lets run.
			hub.emit({
				...{ type: "pool.resumed", wallMs: world.clock.wall() },
				...{ pool: options.name, by },
			});
			calls.resume();
		});
	}

	/** Kills every worker in this very turn. For the exit of the host; `close` is for everything else. */
	killNow(): void {
		this.#internals.workerSet.killNow();
		this.#internals.companion?.killNow();
	}

	/** @param events a pool that was never started has no end to report. */
	async #end(
		manner: CloseManner,
		drainMs: number,
		by: string,
		events: "reported" | "silent",
	): Promise<void> {
		const { options, world, workerSet, companion } = this.#internals;
		const pool = options.name;
		const { calls, sessions, release } = this.#internals;
		const { clock, host } = world;
		const emit = events === "reported" ? this.#internals.hub.emit : () => {};
		const begunMs = clock.now();
		const releaseHost = host.keepAlive();
		try {
			calls.close();
			const wallMs = clock.wall();
			emit({ type: "pool.closing", wallMs, pool, drainMs, manner, by });
			if (manner === "gentle") {
				this.resume("close");
				await calls.outstanding.drain(drainMs);
			}
			this.cut = cutCalls(calls.outstanding.all(), clock.now());
			const cutShort = this.cut.count;
			// A second close may have ended the wait.
			const givenMs = Math.min(drainMs, Math.ceil(clock.now() - begunMs));
			const ended = outbox.during(() => {
				calls.fail(calls.outstanding.all(), (call) =>
					cutByClose(pool, call, givenMs, this.#manner),
				);
				this.resume("close");
				sessions.endAll();
				this.#internals.abandonParent?.();
				return workerSet.close(cutShort > 0 ? "forced" : this.#manner);
			});
			const survivors = await ended;
			await companion?.release(this.#manner);
			const durationMs = clock.now() - begunMs;
			emit({
				type: "pool.closed",
				wallMs: clock.wall(),
				pool,
				durationMs,
				cutShort,
			});
			await release();
			if (survivors.length > 0) throw stillThere(`The pool ${pool}`, survivors);
		} finally {
			releaseHost();
		}
	}
}

/** So many are described. */
const MOST_DESCRIBED = 100;

/** Describes the calls that are about to be ended. */
function cutCalls(calls: readonly Call[], nowMs: number): CutCalls {
	return {
		count: calls.length,
		calls: calls
			.slice(0, MOST_DESCRIBED)
			.map(({ callId, command, acceptedMs, state }) => {
				const attempt = state.kind === "prefetched" ? undefined : state.attempt;
				return {
					...{ callId, command, forMs: nowMs - acceptedMs },
					was: attempt === undefined ? "waiting" : "running",
					workerId: attempt?.worker.ref.workerId ?? null,
				};
			}),
	};
}

/** A reload runs in the context in which the pool was opened, whatever made the adapter ask for it: a connection has one of its own. */
function reloadableIn({
	replacer,
}: Pick<PoolInternals["workerSet"], "replacer">): ReloadablePool {
	return {
		reload: AsyncResource.bind(replacer.reload.bind(replacer)),
		after: (ms, action) => replacer.after(ms, action),
	};
}

/** A program that ends by a signal must not end by an error first. */
async function forever(releaseHost: () => void): Promise<never> {
	releaseHost();
	return await new Promise<never>(() => {});
}
