import type { SnakepitEvent } from "./events.ts";
import type { ProcessIdentity } from "./identity.ts";
import type { WorkerRecord } from "./registry/process-registry.ts";
import type { RunId } from "./run-id.ts";
import type { Clock, ProcessHost } from "./world.ts";

/**
 * A layer that ends workers when their host cannot: something outside of the
 * host that lives longer. Covers all pools of a run.
 *
 * Its own processes do not carry the run's marker: whatever does is a worker or
 * descends from one, and is ended with the run.
 */
export interface Protection {
	/** Stable and lower case, for example `watchdog`; appears in events and reports. A run has one of each name. */
	readonly name: string;
	/** What happens when it cannot be engaged: the run opens without it and with an event, or not at all. */
	readonly whenUnavailable: "start" | "refuse";
	/**
	 * What it was made with, for people to read: no secrets. Two of one name with equal settings are the same to a run;
	 * without settings only the very same object is.
	 */
	readonly settings?: Readonly<Record<string, unknown>> | undefined;
	/** Looks whether it can work on this machine. Leaves nothing running. Never rejects. */
	inspect(): Promise<LayerReport>;
	/**
	 * Called once per run, while it is opened: before its first worker.
	 *
	 * @throws Error saying why it is not available and what would help; nothing is left then.
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
	/** The workers that are reserved or active now: for a protection that has to start again. */
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

/** A protection at work. */
export interface Engagement {
	/** Called with each worker in the turn in which it is recorded. Never throws. */
	watch?(worker: WatchedWorker): void;
	/** Called when a worker has ended. Never throws. */
	unwatch?(incarnation: string): void;
	/** The run has ended in order: resolves when nothing of the protection is left. Never rejects. */
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
	/** What would help. */
	readonly remedy?: string | undefined;
}
