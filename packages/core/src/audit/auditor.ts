import type {
	Fate,
	KillLimits,
	ProcessKiller,
} from "../cleanup/process-killer.ts";
import { spareReason } from "../cleanup/run-claim.ts";
import type { Clock, Timer } from "../contract/clock.ts";
import type { SnakepitEvent } from "../contract/events.ts";
import {
	formatMarker,
	type ProcessIdentity,
	processKey,
} from "../contract/identity.ts";
import type {
	ProcessRegistry,
	WorkerStatus,
} from "../contract/process-registry.ts";
import type { MarkedProcess, ProcessHost } from "../contract/world.ts";
import { Reconciliation } from "../registry/history.ts";

/** How often a run is audited, and what becomes of strays. */
export interface AuditRule {
	readonly intervalMs: number;
	readonly strays: "reported" | "killed";
}

/** Counts since the run began. */
export interface AuditStatistics {
	readonly looks: number;
	/** Workers whose process was gone without a notice of its end. */
	readonly vanished: number;
	readonly straysFound: number;
	readonly straysKilled: number;
}

export interface AuditorParts {
	readonly registry: ProcessRegistry;
	/** The value of the marker variable of its workers. */
	readonly marker: string;
	readonly host: ProcessHost;
	readonly clock: Clock;
	readonly killer: Pick<ProcessKiller, "end">;
	readonly rule: AuditRule;
	readonly emit: (event: SnakepitEvent) => void;
	/** What else of the run is looked after from time to time. */
	readonly alsoLook?: (() => void) | undefined;
}

/** Short: the worker that started a stray is gone, so nothing uses what it still finishes. */
const STRAY_LIMITS: KillLimits = { graceMs: 500, deadlineMs: 5_000 };

/**
 * Compares the ledger with the process table from time to time, both ways:
 * workers whose process is gone, and processes of the run that belong to no
 * worker. Writes what could not be written before.
 */
export class Auditor {
	readonly #parts: AuditorParts;
	readonly #reconciliation: Reconciliation;
	#timer: Timer;
	#suspects: ReadonlySet<string> = new Set();
	/** Strays that were reported and still live. */
	#reported: ReadonlySet<string> = new Set();
	/** Strays that are being ended now. */
	readonly #ending = new Set<string>();
	#counts: AuditStatistics = {
		looks: 0,
		vanished: 0,
		straysFound: 0,
		straysKilled: 0,
	};

	constructor(parts: AuditorParts) {
		const { registry, host } = parts;
		this.#parts = parts;
		this.#reconciliation = new Reconciliation(registry, host);
		this.#timer = this.#schedule();
	}

	statistics(): AuditStatistics {
		return this.#counts;
	}

	stop(): void {
		this.#timer.cancel();
	}

	#schedule(): Timer {
		const { clock, rule } = this.#parts;
		return clock.after(rule.intervalMs, () => {
			this.#timer = this.#schedule();
			this.#look();
		});
	}

	/** A process table that cannot be read now can be at the next look: no reason to end the program. */
	#failed({ message }: Error): void {
		const { runId } = this.#parts.registry;
		this.#emit({ type: "audit.failed", runId, reason: message });
	}

	/** Emits an event only when something is wrong. */
	#look(): void {
		const { registry, alsoLook } = this.#parts;
		alsoLook?.();
		const vanished = this.#reconciliation.look().length;
		const strays = this.#countNewStrays();
		const unwritten = registry.flush();
		const counts = this.#counts;
		this.#counts = {
			...counts,
			looks: counts.looks + 1,
			vanished: counts.vanished + vanished,
			straysFound: counts.straysFound + strays,
		};
		if (vanished === 0 && unwritten === 0 && strays === 0) return;
		const { runId } = registry;
		this.#emit({
			type: "registry.reconciled",
			runId,
			vanished,
			strays,
			unwritten,
		});
	}

	#countNewStrays(): number {
		try {
			return this.#lookForStrays(this.#parts.host.marked());
		} catch (error) {
			this.#failed(error as Error);
			return 0;
		}
	}

	/** Returns how many are new. */
	#lookForStrays(marked: readonly MarkedProcess[]): number {
		const { registry, rule } = this.#parts;
		const step = decideStrays(this.#unaccounted(marked), this.#suspects);
		const news = step.strays.filter(
			(stray) => !this.#reported.has(keyOf(stray)),
		);
		this.#suspects = step.suspects;
		this.#reported = new Set(step.strays.map(keyOf));
		for (const { identity, incarnation, of, name } of news)
			this.#emit({
				type: "audit.stray_found",
				runId: registry.runId,
				pid: identity.pid,
				incarnation,
				of,
				name,
			});
		if (rule.strays === "killed")
			this.#end(step.strays).catch((error: Error) => this.#failed(error));
		return news.length;
	}

	#unaccounted(marked: readonly MarkedProcess[]): readonly Stray[] {
		const { registry, marker } = this.#parts;
		return unaccounted(
			marked,
			marker,
			(incarnation) => registry.lookup(incarnation)?.status,
		);
	}

	/** Ends strays, and what they fork meanwhile. */
	async #end(strays: readonly Stray[]): Promise<void> {
		const begun = strays.filter((stray) => !this.#ending.has(keyOf(stray)));
		if (begun.length === 0) return;
		const families = new Set(begun.map(({ incarnation }) => incarnation));
		const isMeant = (stray: Stray): boolean =>
			this.#ending.has(keyOf(stray)) ||
			(stray.incarnation !== undefined && families.has(stray.incarnation));
		for (const stray of begun) this.#ending.add(keyOf(stray));
		const { host, killer } = this.#parts;
		try {
			const results = await killer.end(
				() => this.#unaccounted(host.marked()).filter(isMeant),
				STRAY_LIMITS,
			);
			for (const { target, fate } of results) this.#ended(target, fate);
		} finally {
			for (const stray of begun) this.#ending.delete(keyOf(stray));
		}
	}

	#ended({ identity, incarnation }: Stray, fate: Fate): void {
		const about = {
			runId: this.#parts.registry.runId,
			pid: identity.pid,
			incarnation,
		};
		if (fate !== "ended_on_term" && fate !== "killed") {
			const reason = spareReason(fate);
			this.#emit({ type: "audit.stray_spared", ...about, reason });
			return;
		}
		const straysKilled = this.#counts.straysKilled + 1;
		this.#counts = { ...this.#counts, straysKilled };
		this.#emit({ type: "audit.stray_killed", ...about, how: fate });
	}

	#emit(event: Untimed<SnakepitEvent>): void {
		const { clock, emit } = this.#parts;
		emit({ wallMs: clock.wall(), ...event } as SnakepitEvent);
	}
}

type Untimed<Event> = Event extends unknown ? Omit<Event, "wallMs"> : never;

/** A living process that carries the marker of a living run and belongs to no worker in the run's registry. */
export interface Stray {
	readonly identity: ProcessIdentity;
	/** The worker that its marker names. */
	readonly incarnation: string | undefined;
	/** That worker in the registry: it has ended, or there never was one. */
	readonly of: "ended" | "unknown";
	/** The program's name, for people. */
	readonly name: string;
}

/** The result of one look. */
interface StraysStep {
	/** Seen at this look and at the one before. */
	readonly strays: readonly Stray[];
	/** Every process without a worker at this look: most of them are being ended at this moment. */
	readonly suspects: ReadonlySet<string>;
}

/** The processes of the run `marker` that descend from no worker which is reserved or active. */
export function unaccounted(
	marked: readonly MarkedProcess[],
	marker: string,
	statusOf: (incarnation: string) => WorkerStatus | undefined,
): readonly Stray[] {
	return marked.flatMap((process): readonly Stray[] => {
		if (formatMarker(process.marker) !== marker) return [];
		const { identity, incarnation, name } = process;
		const status =
			incarnation === undefined ? undefined : statusOf(incarnation);
		if (status === "reserved" || status === "active") return [];
		return [{ identity, incarnation, name, of: status ?? "unknown" }];
	});
}

/** Decides which processes are strays: those without a worker at two looks in a row. */
export function decideStrays(
	found: readonly Stray[],
	suspectsBefore: ReadonlySet<string>,
): StraysStep {
	return {
		strays: found.filter((stray) => suspectsBefore.has(keyOf(stray))),
		suspects: new Set(found.map(keyOf)),
	};
}

/** Names one process: its pid alone may be another's at the next look. */
export function keyOf({ identity }: Pick<Stray, "identity">): string {
	return processKey(identity);
}
