import type { SnakepitEvent } from "../contract/events.ts";
import type { ProcessRegistry } from "../contract/process-registry.ts";
import type { ProcessHost } from "../contract/world.ts";
import type { FailedCall } from "../registry/failed-calls.ts";
import type { Act, HostIncident } from "../registry/incidents.ts";
import type { ResolvedRunOptions } from "./run-options.ts";
import type { StartedRun } from "./start-run.ts";

type Emit = (event: SnakepitEvent) => void;

export interface SharedRunParts {
	readonly host: Pick<ProcessHost, "keepAlive">;
	readonly dataDir: string;
	readonly options: ResolvedRunOptions;
	readonly start: (emit: Emit) => Promise<StartedRun>;
	/** Called once, when it cannot be joined any more: the next join needs another run. */
	readonly onOver: () => void;
}

/** The run of this program in one data directory: starts with the first share, and ends with the last. */
export class SharedRun {
	readonly dataDir: string;
	readonly options: ResolvedRunOptions;
	readonly #parts: SharedRunParts;
	/** The listeners of all shares. */
	readonly #joined = new Set<Emit>();
	#starting: Promise<StartedRun> | undefined;
	#started: StartedRun | undefined;

	constructor(parts: SharedRunParts) {
		this.#parts = parts;
		this.dataDir = parts.dataDir;
		this.options = parts.options;
	}

	/** Once it has started. */
	get started(): StartedRun | undefined {
		return this.#started;
	}

	/** Its events go to `emit` until that leaves. Rejects when the start does; nothing is left then. */
	async join(emit: Emit): Promise<StartedRun> {
		this.#joined.add(emit);
		const release = this.#parts.host.keepAlive();
		try {
			this.#starting ??= this.#start();
			return await this.#starting;
		} finally {
			release();
		}
	}

	/** Gives a share back, once for each join. With the last the run ends. */
	async leave(emit: Emit, started: StartedRun): Promise<void> {
		if (this.#joined.size === 1) {
			const release = this.#parts.host.keepAlive();
			this.#parts.onOver();
			await started.end().finally(release);
		}
		this.#joined.delete(emit);
	}

	async #start(): Promise<StartedRun> {
		const { start, onOver } = this.#parts;
		try {
			this.#started = await start((event) => {
				for (const emit of this.#joined) emit(event);
			});
			return this.#started;
		} catch (error) {
			onOver();
			throw error;
		}
	}
}

/** By data directory. */
export const sharedRuns: Map<string, SharedRun> = new Map();

/** A registry that knows its own run. */
export interface OwnRegistry
	extends Pick<ProcessRegistry, "runId" | "record" | "list" | "living"> {
	/** What went wrong so far. */
	readonly incidents: readonly HostIncident[];
	/** What was asked of its pools, and by whom. */
	readonly acts: readonly Act[];
	/** Which calls failed so far. */
	readonly failedCalls: readonly FailedCall[];
}

/** The registry of this program's run in a data directory, if this copy of the package has one there. */
export function ownRegistry(path: string): OwnRegistry | undefined {
	return sharedRuns.get(path)?.started?.infrastructure.registry;
}
