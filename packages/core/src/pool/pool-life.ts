import type { SnakepitEvent } from "../contract/events.ts";
import type { Afterwards, CloseManner } from "../contract/states.ts";
import { asError } from "../contract/thrown.ts";
import type { World } from "../contract/world.ts";
import type { ResolvedOptions } from "../options/pool-options.ts";
import { outbox } from "../outbox.ts";
import { stillThere } from "../process/process-end.ts";
import { closedWhileOpening, cutByClose } from "./calls/call-errors.ts";
import type { Calls } from "./calls/calls.ts";
import type { SessionTable } from "./placement/session-table.ts";
import type { PoolCompanion } from "./pool-setting.ts";
import type { WorkerSet } from "./workers/worker-set.ts";

export interface PoolLifeSetting {
	readonly pool: string;
	readonly options: ResolvedOptions;
	readonly world: World;
	readonly emit: (event: SnakepitEvent) => void;
	readonly workerSet: WorkerSet;
	readonly calls: Calls;
	readonly sessions: SessionTable;
	readonly companion: PoolCompanion | undefined;
	/** A preloaded parent that starts is not waited for any more. */
	readonly abandonParent: (() => void) | undefined;
	/** Called once when everything is gone. */
	readonly release: () => Promise<void>;
}

type LifeState =
	| { readonly kind: "starting" }
	| { readonly kind: "open" }
	| { readonly kind: "closing"; readonly closed: Promise<void> };

/** The beginning and the end of one pool, in order and once. */
export class PoolLife {
	readonly #setting: PoolLifeSetting;
	#state: LifeState = { kind: "starting" };
	#afterwards: Afterwards = "goes_on";
	#endWatch: () => void = () => {};
	/** Of its close, and of a second one that hurries it. */
	#manner: CloseManner = "gentle";
	/** Aborted when the pool is closed. */
	readonly #preparing = new AbortController();

	constructor(setting: PoolLifeSetting) {
		this.#setting = setting;
	}

	get phase(): LifeState["kind"] {
		return this.#state.kind;
	}

	get isClosing(): boolean {
		return this.#state.kind === "closing";
	}

	/** Prepares the adapter and starts the minimum of workers; ends everything again when that fails. */
	async open(): Promise<void> {
		const { pool, options, world, emit } = this.#setting;
		const { workerSet, companion, calls } = this.#setting;
		const { adapter } = options;
		const { clock } = world;
		const about = { pool, adapter: adapter.name };
		const begunMs = clock.now();
		const endHold = world.host.keepAlive();
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
			this.#endWatch = adapter.watch?.(workerSet.reloads) ?? this.#endWatch;
		} catch (error) {
			const shown = asError(error);
			const wallMs = clock.wall();
			emit({ type: "pool.start_failed", wallMs, ...about, error: shown });
			if (this.#state.kind === "closing") await this.#state.closed;
			// What is left is reported by event; why it did not open is what is thrown.
			else await this.close("forced").catch(() => {});
			if (this.#afterwards === "dies") await forever(endHold);
			throw error;
		} finally {
			endHold();
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
	): Promise<void> {
		return outbox.during(() => this.#close(manner, drainMs, afterwards));
	}

	#close(
		manner: CloseManner,
		drainMs: number | undefined,
		afterwards: Afterwards,
	): Promise<void> {
		const { options, workerSet, companion, calls } = this.#setting;
		if (afterwards === "dies") {
			this.#afterwards = "dies";
			calls.die();
		}
		const state = this.#state;
		if (state.kind === "closing") {
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
		this.#state = { kind: "closing", closed: promise };
		this.#manner = manner;
		this.#end(
			manner,
			manner === "gentle" ? (drainMs ?? options.stop.drainMs) : 0,
			state.kind === "open" ? "reported" : "silent",
		).then(resolve, reject);
		return promise;
	}

	/** Sends calls to workers again. Does nothing when they are sent. */
	resume(by: string): void {
		const { pool, world, emit, calls } = this.#setting;
		if (!calls.placement.isPaused) return;
		outbox.during(() => {
			// Before the calls that it lets run.
			emit({ type: "pool.resumed", wallMs: world.clock.wall(), pool, by });
			calls.resume();
		});
	}

	/** Kills every worker in this very turn. For the exit of the host; `close` is for everything else. */
	killNow(): void {
		this.#setting.workerSet.killNow();
		this.#setting.companion?.killNow();
	}

	/** @param events a pool that was never started has no end to report. */
	async #end(
		manner: CloseManner,
		drainMs: number,
		events: "reported" | "silent",
	): Promise<void> {
		const { pool, world, workerSet, companion } = this.#setting;
		const { calls, sessions, release } = this.#setting;
		const { clock, host } = world;
		const emit = events === "reported" ? this.#setting.emit : () => {};
		const begunMs = clock.now();
		const endHold = host.keepAlive();
		try {
			calls.close();
			emit({ type: "pool.closing", wallMs: clock.wall(), pool, drainMs });
			if (manner === "gentle") {
				this.resume("close");
				await calls.outstanding.drain(drainMs);
			}
			const cutShort = calls.outstanding.size;
			// A second close may have ended the wait.
			const givenMs = Math.min(drainMs, Math.ceil(clock.now() - begunMs));
			const ended = outbox.during(() => {
				calls.fail(calls.outstanding.all(), (call) =>
					cutByClose(pool, call, givenMs, this.#manner),
				);
				this.resume("close");
				sessions.endAll();
				this.#setting.abandonParent?.();
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
			endHold();
		}
	}
}

/** A program that ends by a signal must not end by an error first. */
async function forever(endHold: () => void): Promise<never> {
	endHold();
	return await new Promise<never>(() => {});
}
