import type { SnakepitEvent } from "../events.ts";
import { pauseSync } from "../os/system-clock.ts";
import type { Protection } from "../protection.ts";
import { LedgerWatch } from "../registry/ledger-watch.ts";
import type { Clock, ProcessHost, ProcessSource, Random } from "../world.ts";
import { applicationCleanup } from "./application-cleanup.ts";
import { recordExit } from "./exit-record.ts";
import type { RunHandle } from "./run-handle.ts";
import type { StartedRun } from "./start-run.ts";

type Emit = (event: SnakepitEvent) => void;

export interface SharedRunParts {
	readonly host: ProcessHost;
	readonly clock: Clock;
	readonly random: Random;
	readonly start: (emit: Emit) => Promise<StartedRun>;
	/** Called when nobody holds it any more: the next holder needs another. */
	readonly onOver: () => void;
}

/** One run and everybody who holds it: it starts with the first and ends with the last. */
export class SharedRun {
	readonly #parts: SharedRunParts;
	readonly #holders = new Set<{ readonly emit: Emit }>();
	#started: Promise<StartedRun> | undefined;
	#stop: () => void = () => {};

	constructor(parts: SharedRunParts) {
		this.#parts = parts;
	}

	/** Rejects when the start does, or a protection that insists; nothing is held then. */
	async acquire(
		emit: Emit,
		protections: readonly Protection[],
	): Promise<RunHandle> {
		const holder = { emit };
		this.#holders.add(holder);
		const letGo = this.#parts.host.keepAlive();
		try {
			this.#started ??= this.#start();
			return await this.#engage(await this.#started, holder, protections);
		} finally {
			letGo();
		}
	}

	async #engage(
		started: StartedRun,
		holder: { readonly emit: Emit },
		protections: readonly Protection[],
	): Promise<RunHandle> {
		let released: Promise<void> | undefined;
		const release = (): Promise<void> => {
			released ??= this.#release(started, holder);
			return released;
		};
		try {
			const source = await started.engagements.engage(protections);
			return this.#handle(started, source, release);
		} catch (error) {
			await release();
			throw error;
		}
	}

	async #start(): Promise<StartedRun> {
		const started = await this.#begin();
		const { host, clock } = this.#parts;
		const { registry } = started;
		const watch = new LedgerWatch({
			registry,
			host,
			clock,
			emit: (event) => this.#emit(event),
		});
		// Registered before every pool, so killed after them: their workers are gone by then.
		const unregister = applicationCleanup.register({
			close: async () => {},
			killNow: () => recordExit({ registry, host, clock, pause: pauseSync }),
			signalled: (signal, forced) =>
				this.#emit({
					type: "host.signal_received",
					wallMs: clock.wall(),
					signal,
					forced,
				}),
		});
		this.#stop = () => {
			unregister();
			watch.stop();
		};
		return started;
	}

	async #begin(): Promise<StartedRun> {
		try {
			return await this.#parts.start((event) => this.#emit(event));
		} catch (error) {
			this.#parts.onOver();
			throw error;
		}
	}

	#handle(
		started: StartedRun,
		source: ProcessSource | undefined,
		release: () => Promise<void>,
	): RunHandle {
		const { host, clock, random } = this.#parts;
		const { engagements: _, ...rest } = started;
		return {
			...rest,
			host,
			source: source ?? host.source,
			clock,
			random,
			release,
		};
	}

	/** With the last holder the run ends. */
	async #release(
		{ registry, engagements }: StartedRun,
		holder: { readonly emit: Emit },
	): Promise<void> {
		if (this.#holders.size === 1) {
			this.#stop();
			this.#parts.onOver();
			registry.close();
			// Only now: until the run is over it must be watched.
			await engagements.release();
		}
		this.#holders.delete(holder);
	}

	#emit(event: SnakepitEvent): void {
		for (const { emit } of this.#holders) emit(event);
	}
}
