import { Auditor, type AuditRule } from "../audit/auditor.ts";
import type { SnakepitEvent } from "../events.ts";
import { pauseSync } from "../os/system-clock.ts";
import type { Protection } from "../protection.ts";
import type { SqliteRegistry } from "../registry/sqlite-registry.ts";
import type { Clock, ProcessHost, ProcessSource, Random } from "../world.ts";
import { applicationCleanup } from "./application-cleanup.ts";
import { recordExit } from "./exit-record.ts";
import type { RunHandle } from "./run-handle.ts";
import type { StartedRun } from "./start-run.ts";

/** Somebody who holds the run. */
interface Holder {
	readonly emit: Emit;
	readonly audit: AuditRule;
}

interface AuditedRun extends StartedRun {
	readonly auditor: Auditor;
}

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
	readonly #holders = new Set<Holder>();
	#started: Promise<AuditedRun> | undefined;
	#registry: SqliteRegistry | undefined;
	#stop: () => void = () => {};

	constructor(parts: SharedRunParts) {
		this.#parts = parts;
	}

	/** Once it has started. */
	get registry(): SqliteRegistry | undefined {
		return this.#registry;
	}

	/** Rejects when the start does, or a protection that insists; nothing is held then. */
	async acquire(
		holder: Holder,
		protections: readonly Protection[],
	): Promise<RunHandle> {
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
		started: AuditedRun,
		holder: Holder,
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

	async #start(): Promise<AuditedRun> {
		const started = await this.#begin();
		const { host, clock } = this.#parts;
		const { registry, killer, marker } = started;
		const auditor = new Auditor({
			registry,
			marker,
			host,
			clock,
			killer,
			rule: () => this.#auditRule(),
			emit: (event) => this.#emit(event),
		});
		// Registered before every pool, so killed after them: their workers are gone by then.
		const unregister = applicationCleanup.register({
			// It is over when the last of its pools is.
			close: async () => {},
			killNow: () => recordExit({ registry, host, clock, pause: pauseSync }),
			signalled: (signal, forced, answer) =>
				this.#emit({
					type: "host.signal_received",
					wallMs: clock.wall(),
					signal,
					forced,
					answer: answer.kind,
					graceMs: answer.graceMs,
				}),
			graceSpent: (spent) =>
				this.#emit({
					type: "host.grace_spent",
					wallMs: clock.wall(),
					...spent,
				}),
		});
		this.#stop = () => {
			unregister();
			auditor.stop();
		};
		this.#registry = registry;
		return { ...started, auditor };
	}

	/** Of all who hold it the most careful one is heard. */
	#auditRule(): AuditRule {
		const rules = [...this.#holders].map(({ audit }) => audit);
		return {
			intervalMs: Math.min(...rules.map(({ intervalMs }) => intervalMs)),
			strays: rules.some(({ strays }) => strays === "killed")
				? "killed"
				: "reported",
		};
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
		started: AuditedRun,
		source: ProcessSource | undefined,
		release: () => Promise<void>,
	): RunHandle {
		const { host, clock, random } = this.#parts;
		const { engagements: _, auditor, ...rest } = started;
		return {
			...rest,
			host,
			source: source ?? host.source,
			clock,
			random,
			audit: () => auditor.statistics(),
			release,
		};
	}

	/** With the last holder the run ends. */
	async #release(
		{ registry, engagements }: StartedRun,
		holder: Holder,
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
