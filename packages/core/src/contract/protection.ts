import type { Clock } from "./clock.ts";
import type { SnakepitEvent } from "./events.ts";
import type { ProcessIdentity, RunId } from "./identity.ts";
import type { WorkerRecord } from "./process-registry.ts";
import type { ProcessHost } from "./world.ts";

/**
 * A layer that kills workers when their host cannot, from outside of the host. It covers all pools of a run.
 *
 * Its own processes must not carry the run's marker: every process with the marker is a worker or its descendant, and is
 * killed with the run.
 */
export interface Protection {
	/** Stable and lower case, for example `watchdog`; appears in events and reports. A run has one of each name. */
	readonly name: string;
	/** What happens if it cannot be engaged: the run opens without it and reports an event, or does not open. */
	readonly whenUnavailable: "start" | "refuse";
	/**
	 * Its settings, for people to read, so without secrets. A run treats two protections with the same name and equal
	 * settings as the same; without settings, only the same object is.
	 */
	readonly settings?: Readonly<Record<string, unknown>> | undefined;
	/** Checks whether it can work on this machine. Leaves nothing running. Never rejects. */
	inspect(): Promise<LayerReport>;
	/**
	 * Called once per run, while the run is opened and before its first worker starts. One that does not settle within
	 * 60 s counts as not available; an engagement that comes later is released.
	 *
	 * @throws Error that says why it is not available, and what to do. Nothing may be left then.
	 */
	engage(context: ProtectionContext): Promise<Engagement>;
}

/** What a protection protects: one run of this host. */
export interface ProtectionContext {
	readonly runId: RunId;
	readonly host: ProcessHost;
	readonly clock: Clock;
	/** The value of the marker variable of every worker of the run. */
	readonly marker: string;
	/** Where the ledger is. */
	readonly dataDir: string;
	/** Private (0700); removed with the run. */
	readonly runDirectory: string;
	/** The workers that are reserved or active now, for a protection that restarts. */
	living(): readonly WorkerRecord[];
	/** Reports to the listeners of the run and of each of its pools. */
	emit(event: SnakepitEvent): void;
}

/** A worker as a protection sees it. */
export interface WatchedWorker {
	readonly incarnation: string;
	readonly identity: ProcessIdentity;
	readonly groupId: number;
}

/** An active protection. */
export interface Engagement {
	/** Called with each worker in the turn of the event loop in which it is recorded. Never throws. */
	watch?(worker: WatchedWorker): void;
	/** Called when a worker has ended. Never throws. */
	unwatch?(incarnation: string): void;
	/**
	 * Called when the run was closed. Resolves when no process of the protection is left; the run waits 10 s for that. Never
	 * rejects.
	 */
	release(): Promise<void>;
}

/** One layer of protection, as `doctor` reports it. */
export interface LayerReport {
	/** For example `watchdog`. */
	readonly layer: string;
	/**
	 * `"active"`: protects every pool of this program. `"available"`: works here
	 * where a run asks for it. `"unavailable"`: cannot work here.
	 */
	readonly status: "active" | "available" | "unavailable";
	/** What it covers here, or why it cannot. */
	readonly detail: string;
	/** What to do about it. */
	readonly remedy?: string | undefined;
}

/** Why a protection cannot work here, and what would help. */
export class ProtectionUnavailable extends Error {
	override readonly name = "ProtectionUnavailable";
	readonly reason: string;
	readonly remedy: string;

	constructor(reason: string, remedy: string) {
		super(`${reason} ${remedy}`);
		this.reason = reason;
		this.remedy = remedy;
	}
}
