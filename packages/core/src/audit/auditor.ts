import type {
	Fate,
	KillLimits,
	ProcessKiller,
} from "../cleanup/process-killer.ts";
import { spareReason } from "../cleanup/settlement.ts";
import type { Clock, Timer } from "../contract/clock.ts";
import type { SnakepitEvent } from "../contract/events.ts";
import type { ProcessRegistry } from "../contract/process-registry.ts";
import type { MarkedProcess, ProcessHost } from "../contract/world.ts";
import { Reconciliation } from "../registry/reconciliation.ts";
import { decideStrays, keyOf, type Stray, unaccounted } from "./strays.ts";

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
