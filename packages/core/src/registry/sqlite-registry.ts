import type { Clock, Timer } from "../contract/clock.ts";
import type { WorkerLocation } from "../contract/connection.ts";
import type { RegistryError } from "../contract/errors.ts";
import type { EventOf, SnakepitEvent } from "../contract/events.ts";
import type { ProcessIdentity, RunId } from "../contract/identity.ts";
import type {
	HasLifeline,
	ProcessRegistry,
	ProgramEnd,
	RecordedError,
	RegistryListener,
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
import { withFallback } from "../contract/thrown.ts";
import { outbox } from "../outbox.ts";
import { type FailedCall, NotedFailedCalls } from "./failed-calls.ts";
import {
	type Act,
	type HostIncident,
	hostIncidentOf,
	isAct,
	NotedActs,
	NotedIncidents,
} from "./incidents.ts";
import type { StoredRun } from "./ledger.ts";
import { ledgerFailure } from "./ledger-failure.ts";
import type { OwnFiles } from "./own-files.ts";
import type { Outlives, RunFile } from "./run-file.ts";
import { CommitTimes } from "./sqlite.ts";
import * as life from "./workers.ts";
import { WorkerRows } from "./workers.ts";

export interface SqliteRegistryParts {
	readonly clock: Clock;
	readonly emit: (event: SnakepitEvent) => void;
	readonly files: OwnFiles;
	/** As it is in the file. */
	readonly run: StoredRun;
	/** Whether it may contain what workers printed and what they were called with. */
	readonly content: "recorded" | "left_out";
	/** The value of the marker variable of its workers. */
	readonly marker: string;
	readonly listener: RegistryListener;
	/** Releases the run's other files; `over`: nothing of it is left to clean up. */
	readonly release: (over: boolean) => void;
}

/** A call that has failed is in the file so soon, if no other commit takes it there before. */
const FAILED_CALL_MS = 100;
/** A file that is locked is tried again so soon: another process reads it, or writes to it, for a moment. */
const LOCKED_MS = 1_000;
/** When one call after the other fails, they are written so often. */
const FAILED_CALLS_MS = 1_000;

/** The ledger of one run: in a file, and in memory for reading. */
export class SqliteRegistry implements ProcessRegistry {
	readonly runId: RunId;
	readonly #parts: SqliteRegistryParts;
	readonly #rows = new WorkerRows();
	readonly #incidents = new NotedIncidents();
	readonly #acts = new NotedActs();
	readonly #failedCalls: NotedFailedCalls;
	/** Until they are written. */
	#failedCallsTimer: Timer | undefined;
	/** When they were written last, on the monotonic clock. */
	#failedCallsMs = Number.NEGATIVE_INFINITY;
	#run: StoredRun;
	#runUnwritten = false;
	#incarnations = 0;
	readonly #commits = new CommitTimes();
	/** Whether some worker of this run is in the file. */
	#hasWritten = false;
	/** Whether the last write failed: further ones wait for {@link flush}, so that a slow failure cannot hold the event loop up again and again. */
	#degraded = false;
	/** The next try, after one that found the file locked. */
	#lockTimer: Timer | undefined;
	#closed = false;

	constructor(parts: SqliteRegistryParts) {
		this.#parts = parts;
		this.#run = parts.run;
		this.#failedCalls = new NotedFailedCalls(parts.content);
		this.runId = parts.run.runId;
	}

	get state(): RunState {
		return this.#run.state;
	}

	nextIncarnation(): string {
		this.#incarnations += 1;
		return `${this.runId}-${this.#incarnations}`;
	}

	reserve(reservation: Reservation): void {
		if (this.#closed) throw life.runOver(reservation.incarnation);
		const at = this.#parts.clock.wall();
		const known = this.lookup(reservation.incarnation);
		this.#rows.put(life.reserved(known, reservation, this.runId, at));
		if (this.#hasWritten) {
			this.#writeThrough();
			return;
		}
		const failure = this.#write();
		if (failure === undefined) return;
		this.#rows.remove(reservation.incarnation);
		throw failure;
	}

	activate(
		incarnation: string,
		identity: ProcessIdentity,
		groupId: number,
		lifeline: HasLifeline = "none",
	): void {
		if (this.#closed) throw life.runOver(incarnation);
		const at = this.#parts.clock.wall();
		const row = this.lookup(incarnation);
		this.#rows.put(
			life.activated(row, incarnation, identity, groupId, lifeline, at),
		);
		this.#writeThrough();
		this.#parts.listener.activated({ incarnation, identity, groupId });
	}

	locate(incarnation: string, location: WorkerLocation): void {
		this.#rows.put(
			life.located(this.lookup(incarnation), incarnation, location),
		);
		this.#writeThrough();
	}

	failStart(
		worker: Pick<Reservation, "incarnation" | "workerId" | "pool">,
		given: RecordedError,
	): void {
		if (this.#closed) return;
		const { clock, content } = this.#parts;
		const known = this.lookup(worker.incarnation);
		const error = life.errorWith(content, given);
		this.#rows.put(
			life.startFailed(known, worker, this.runId, error, clock.wall()),
		);
		this.#writeThrough();
	}

	end(incarnation: string, given: WorkerEnd): void {
		const { clock, content } = this.#parts;
		const end = content === "recorded" ? given : life.withoutContent(given);
		const known = this.lookup(incarnation);
		// In a run that is over, only those that it could not see to their end are known.
		if (this.#closed && known === undefined) return;
		const row = life.ended(known, incarnation, end, clock.wall());
		if (row === undefined) return;
		this.#rows.put(row);
		this.#writeThrough();
		if (!this.#closed) this.#parts.listener.ended(incarnation);
	}

	/** What went wrong in this run, as far as it is recorded. */
	get incidents(): readonly HostIncident[] {
		return this.#incidents.all;
	}

	/** What was asked of its pools, and by whom: the last of it. */
	get acts(): readonly Act[] {
		return this.#acts.all;
	}

	/** Records an event of something that went wrong, or of what somebody asked for; ignores others. */
	note(event: SnakepitEvent): void {
		if (this.#closed) return;
		if (isAct(event)) {
			this.#acts.add(event);
			this.#writeThrough();
			return;
		}
		const incident = hostIncidentOf(event);
		if (incident !== undefined) this.#noteIncident(incident);
	}

	/** Records why the run could not be opened. */
	failOpening(error: RecordedError): void {
		if (this.#closed) return;
		const wallMs = this.#parts.clock.wall();
		this.#noteIncident({ type: "run.open_failed", wallMs, error });
	}

	#noteIncident(incident: HostIncident): void {
		const { content } = this.#parts;
		if (this.#incidents.add(life.incidentWith(content, incident)))
			this.#writeThrough();
	}

	/** What is known now of how the program ends. It is recorded now, or with the next change. */
	endProgram(programEnd: ProgramEnd, when: "now" | "later"): void {
		if (this.#closed) return;
		this.#putRun({ ...this.#run, programEnd });
		if (when === "now") this.#writeThrough();
	}

	/** The calls of this run that failed, as far as they are kept, oldest first. */
	get failedCalls(): readonly FailedCall[] {
		return this.#failedCalls.all;
	}

	/** Counts a call that has failed. Returns whether {@link keepFailedCall} wants its event: of many that fail alike, a few a second. */
	countFailedCall(pool: string, command: string, code: string): boolean {
		if (this.#closed) return false;
		const nowMs = this.#parts.clock.now();
		const isWanted = this.#failedCalls.counts(pool, command, code, nowMs);
		this.#writeFailedCalls(nowMs);
		return isWanted;
	}

	/** Records a call that has failed: with the next commit, or in a moment. */
	keepFailedCall(call: EventOf<"call.settled">): void {
		if (!this.#closed) this.#failedCalls.keep(call);
	}

	/** Later: a caller waits for its error, and not for the file. */
	#writeFailedCalls(nowMs: number): void {
		if (this.#failedCallsTimer !== undefined) return;
		const dueMs = this.#failedCallsMs + FAILED_CALLS_MS;
		const waitMs = Math.max(FAILED_CALL_MS, dueMs - nowMs);
		this.#failedCallsTimer = this.#parts.clock.after(waitMs, () => {
			this.#failedCallsTimer = undefined;
			if (this.#failedCalls.unwrittenCount === 0) return;
			this.#failedCallsMs = this.#parts.clock.now();
			this.#writeThrough();
		});
	}

	transition(to: RunState): void {
		this.#putRun({ ...this.#run, state: nextRunState(this.state, to) });
		this.#writeThrough();
	}

	/** The private directory of the run is another one from now on. */
	moveDirectory(directory: string): void {
		this.#putRun({ ...this.#run, directory });
		this.#writeThrough();
	}

	living(): readonly WorkerRecord[] {
		return this.#rows.kept().filter((row) => row.status !== "ended");
	}

	list(): readonly WorkerRecord[] {
		const written = this.#inFile(({ ledger }) => ledger.workers("all")) ?? [];
		return this.#rows.over(written);
	}

	lookup(incarnation: string): WorkerRecord | undefined {
		return (
			this.#rows.get(incarnation) ??
			this.#inFile(({ ledger }) => ledger.worker(incarnation))
		);
	}

	statistics(): RegistryStatistics {
		return {
			reserved: this.#rows.count("reserved"),
			active: this.#rows.count("active"),
			ended: this.#rows.count("ended"),
			unwritten: this.#unwrittenRows(),
			...this.#commits.statistics,
		};
	}

	/** Rows that are only in memory because the ledger cannot be written: none while a lock is waited for. */
	get unwritable(): number {
		return this.#degraded && this.#lockTimer === undefined
			? this.#unwrittenRows()
			: 0;
	}

	get record(): RunRecord {
		const { directory: _, claimedBy: __, ...own } = this.#run;
		return own;
	}

	flush(): number {
		if (this.#closed) return this.#unwrittenRows();
		const late = this.#degraded ? this.#unwrittenRows() : 0;
		this.#restoreFiles();
		const waiting = this.#unwrittenRows();
		if (waiting > 0 && this.#attempt() === undefined && late > 0)
			this.#emit({ type: "registry.recovered", written: waiting });
		return this.#unwrittenRows();
	}

	close(manner: "in_order" | "at_once" = "in_order"): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#failedCallsTimer?.cancel();
		this.#lockTimer?.cancel();
		// With workers that were not seen to end, the next start shall look.
		const clean = this.living().length === 0;
		const endedAt = this.#parts.clock.wall();
		const { files, release } = this.#parts;
		this.#putRun(
			clean
				? { ...this.#run, state: "terminated", endedAt, clean, endedBy: "host" }
				: { ...this.#run, state: "shutting_down" },
		);
		// Where the next start shall look, there is something to lose.
		const outlives = manner === "at_once" && clean ? "host" : "power_loss";
		const late = this.#degraded ? this.#rows.unwrittenCount : 0;
		const failure = this.#write(outlives);
		const over = failure === undefined && clean;
		files.file.close(over ? "is_over" : "goes_on");
		this.#run = { ...this.#run, state: "terminated", endedAt, clean };
		release(over);
		if (late > 0 && failure === undefined)
			this.#emit({ type: "registry.recovered", written: late });
		this.#emit({ type: "run.ended", runId: this.runId, clean });
	}

	/** Reads from the file what is no longer in memory; `undefined` where it cannot be read. */
	#inFile<Answer>(ask: (file: RunFile) => Answer): Answer | undefined {
		if (this.#closed || this.#rows.forgotten === 0) return undefined;
		return withFallback(undefined, () => ask(this.#parts.files.file));
	}

	#putRun(run: StoredRun): void {
		this.#run = run;
		this.#runUnwritten = true;
	}

	#unwrittenRows(): number {
		const noted =
			this.#incidents.unwritten.length + this.#acts.unwritten.length;
		// While the file can be written, they only wait for their moment.
		const failed = this.#degraded ? this.#failedCalls.unwrittenCount : 0;
		const rows = this.#rows.unwrittenCount + Number(this.#runUnwritten);
		return rows + noted + failed;
	}

	#writeThrough(): void {
		// The files of a run that is over are not its own any more.
		if (this.#degraded || this.#closed) return;
		const failure = this.#write();
		if (failure === undefined) return;
		this.#degraded = true;
		if (failure.code === "REGISTRY_LOCKED")
			this.#lockTimer = this.#parts.clock.after(LOCKED_MS, () => {
				this.#lockTimer = undefined;
				this.flush();
			});
		this.#emit({
			type: "registry.degraded",
			code: failure.code,
			message: failure.message,
			unwritten: this.#unwrittenRows(),
		});
	}

	/** Makes lost or damaged files again. Returns whether the ledger was one of them. */
	#restoreFiles(): boolean {
		const written = this.living().filter(
			({ incarnation }) => !this.#rows.isUnwritten(incarnation),
		);
		const ledger = this.#parts.files.restore(
			this.#run,
			written,
			this.#unwrittenRows(),
			(event) => this.#emit(event),
		);
		if (ledger === "emptied") {
			this.#rows.rewrite();
			this.#incidents.rewrite();
			this.#acts.rewrite();
			this.#failedCalls.rewrite();
			this.#runUnwritten = true;
		}
		return ledger !== "untouched";
	}

	/** As {@link #attempt}, and once again when the ledger was lost and could be made again. */
	#write(outlives?: Outlives): RegistryError | undefined {
		const failure = this.#attempt(outlives);
		if (failure === undefined) return undefined;
		return outbox.during(() =>
			this.#restoreFiles() ? this.#attempt(outlives) : failure,
		);
	}

	/** Writes everything that is not written yet as one commit. */
	#attempt(outlives?: Outlives): RegistryError | undefined {
		const { clock, files, marker } = this.#parts;
		const rows = this.#rows.unwritten();
		const begunAt = clock.now();
		try {
			files.file.write(
				rows,
				marker,
				this.#runUnwritten ? this.#run : undefined,
				outlives,
				{
					incidents: this.#incidents.unwritten,
					acts: this.#acts.unwritten,
					failedCalls: this.#failedCalls.changes(),
				},
			);
		} catch (error) {
			return ledgerFailure(error, files.file.path);
		} finally {
			this.#commits.tried(clock.now() - begunAt);
		}
		this.#commits.succeeded();
		this.#hasWritten ||= rows.length > 0;
		this.#rows.written();
		this.#incidents.written();
		this.#acts.written();
		this.#failedCalls.written();
		this.#runUnwritten = false;
		this.#degraded = false;
		this.#lockTimer?.cancel();
		this.#lockTimer = undefined;
		return undefined;
	}

	#emit(event: WithoutTime<SnakepitEvent>): void {
		const { clock, emit } = this.#parts;
		emit({ wallMs: clock.wall(), ...event } as SnakepitEvent);
	}
}

type WithoutTime<Event> = Event extends unknown ? Omit<Event, "wallMs"> : never;
