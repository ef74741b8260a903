import type { Clock, Random } from "../contract/clock.ts";
import type { WorkerLocation } from "../contract/connection.ts";
import { RegistryError } from "../contract/errors.ts";
import type { SnakepitEvent } from "../contract/events.ts";
import {
	generateRunId,
	type ProcessIdentity,
	type RunId,
} from "../contract/identity.ts";
import type {
	HasLifeline,
	ProcessRegistry,
	RecordedError,
	RegistryStatistics,
	Reservation,
	RunRecord,
	WorkerEnd,
	WorkerRecord,
} from "../contract/process-registry.ts";
import {
	nextRunState,
	type RunState,
} from "../contract/run-and-worker-states.ts";
import {
	activated,
	ended,
	located,
	reserved,
	runOver,
	startFailed,
} from "../registry/workers.ts";

export interface MemoryRegistryOptions {
	readonly clock: Clock;
	readonly random: Random;
	/** The process whose run this is. */
	readonly owner: ProcessIdentity;
	readonly emit?: ((event: SnakepitEvent) => void) | undefined;
}

/** The ledger as a Map: the same rules as on disk, and failures on demand. Its creator emits the start and the end of its run. */
export class MemoryRegistry implements ProcessRegistry {
	readonly runId: RunId;
	readonly #options: MemoryRegistryOptions;
	readonly #startedAt: number;
	readonly #rows = new Map<string, WorkerRecord>();
	readonly #unwritten = new Set<string>();
	#state: RunState = "initializing";
	#endedAt: number | undefined;
	#incarnations = 0;
	#commits = 0;
	#failure: RegistryError | undefined;
	#hasWritten = false;
	#degraded = false;
	#clean: boolean | undefined;

	constructor(options: MemoryRegistryOptions) {
		this.#options = options;
		this.#startedAt = options.clock.wall();
		this.runId = generateRunId(this.#startedAt, options.random);
	}

	get state(): RunState {
		return this.#state;
	}

	/** Lets every write fail from now on; `undefined` lets them succeed again. */
	failWrites(failure: RegistryError | undefined = writeFailed()): void {
		this.#failure = failure;
	}

	/** Lets writes succeed again. */
	healWrites(): void {
		this.#failure = undefined;
	}

	nextIncarnation(): string {
		return `${this.runId}-${++this.#incarnations}`;
	}

	reserve(reservation: Reservation): void {
		if (this.#isClosed) throw runOver(reservation.incarnation);
		const { incarnation } = reservation;
		const at = this.#options.clock.wall();
		const known = this.lookup(incarnation);
		const row = reserved(known, reservation, this.runId, at);
		if (this.#failure && !this.#hasWritten) throw this.#failure;
		this.#put(row);
	}

	activate(
		incarnation: string,
		identity: ProcessIdentity,
		groupId: number,
		lifeline: HasLifeline = "none",
	): void {
		if (this.#isClosed) throw runOver(incarnation);
		const at = this.#options.clock.wall();
		const row = this.lookup(incarnation);
		this.#put(activated(row, incarnation, identity, groupId, lifeline, at));
	}

	locate(incarnation: string, location: WorkerLocation): void {
		this.#put(located(this.lookup(incarnation), incarnation, location));
	}

	failStart(
		worker: Pick<Reservation, "incarnation" | "workerId" | "pool">,
		error: RecordedError,
	): void {
		if (this.#isClosed) return;
		const at = this.#options.clock.wall();
		const known = this.lookup(worker.incarnation);
		this.#put(startFailed(known, worker, this.runId, error, at));
	}

	end(incarnation: string, end: WorkerEnd): void {
		if (this.#isClosed && this.lookup(incarnation) === undefined) return;
		const at = this.#options.clock.wall();
		const row = ended(this.lookup(incarnation), incarnation, end, at);
		if (row !== undefined) this.#put(row);
	}

	transition(to: RunState): void {
		this.#state = nextRunState(this.#state, to);
		if (to === "terminated") this.#endedAt = this.#options.clock.wall();
	}

	living(): readonly WorkerRecord[] {
		return this.list().filter((row) => row.status !== "ended");
	}

	list(): readonly WorkerRecord[] {
		return [...this.#rows.values()];
	}

	lookup(incarnation: string): WorkerRecord | undefined {
		return this.#rows.get(incarnation);
	}

	statistics(): RegistryStatistics {
		const count = (status: WorkerRecord["status"]): number =>
			this.list().filter((row) => row.status === status).length;
		return {
			reserved: count("reserved"),
			active: count("active"),
			ended: count("ended"),
			unwritten: this.#unwritten.size,
			commits: this.#commits,
			commitMs: 0,
			longestCommitMs: 0,
		};
	}

	get record(): RunRecord {
		const ended = this.#state === "terminated";
		return {
			runId: this.runId,
			state: this.#state,
			owner: this.#options.owner,
			program: undefined,
			startedAt: this.#startedAt,
			endedAt: this.#endedAt,
			clean: this.#clean,
			endedBy: ended ? "host" : undefined,
			killed: 0,
			cleanupMs: undefined,
			programEnd: undefined,
		};
	}

	flush(): number {
		if (this.#failure || this.#isClosed) return this.#unwritten.size;
		const written = this.#unwritten.size;
		this.#commits += written;
		this.#unwritten.clear();
		if (this.#degraded) this.#emit({ type: "registry.recovered", written });
		this.#degraded = false;
		return 0;
	}

	close(): void {
		if (this.#state === "terminated") return;
		this.flush();
		// With workers that were not seen to end, the next start shall look.
		this.#clean = this.living().length === 0;
		if (this.#state !== "shutting_down") this.transition("shutting_down");
		this.transition("terminated");
	}

	get #isClosed(): boolean {
		return this.#state === "terminated";
	}

	#put(row: WorkerRecord): void {
		this.#rows.set(row.incarnation, row);
		if (this.#isClosed) return;
		if (!this.#failure) {
			this.#unwritten.delete(row.incarnation);
			this.#commits++;
			this.#hasWritten = true;
			return;
		}
		this.#unwritten.add(row.incarnation);
		if (this.#degraded) return;
		this.#degraded = true;
		const { code, message } = this.#failure;
		this.#emit({
			type: "registry.degraded",
			code,
			message,
			unwritten: this.#unwritten.size,
		});
	}

	#emit(event: WithoutTime<SnakepitEvent>): void {
		this.#options.emit?.({
			wallMs: this.#options.clock.wall(),
			...event,
		} as SnakepitEvent);
	}
}

type WithoutTime<Event> = Event extends unknown ? Omit<Event, "wallMs"> : never;

function writeFailed(): RegistryError {
	return new RegistryError({
		code: "REGISTRY_FULL",
		message: "The ledger cannot be written: the test lets it fail.",
	});
}
