import type {
	WorkerRecord,
	WorkerStatus,
} from "../contract/process-registry.ts";

/** So many of the workers that ended last stay in memory; those before them are in the file alone. */
export const ENDED_KEPT = 200;

/** A row and its place in the order of reservations. */
export interface WorkerRow {
	readonly worker: WorkerRecord;
	readonly ordinal: number;
}

/**
 * The workers of a run that are kept in memory: all that live, all that are not
 * written yet, and a bounded number of those that ended.
 */
export class WorkerRows {
	/** By incarnation, in the order of reservations. */
	readonly #rows = new Map<string, WorkerRow>();
	/** In the order of their ends. */
	readonly #ended = new Set<string>();
	readonly #unwritten = new Map<string, WorkerRow>();
	#ordinals = 0;
	#forgotten = 0;

	/** How many are in the file alone. */
	get forgotten(): number {
		return this.#forgotten;
	}

	/** How many are not written yet. */
	get unwrittenCount(): number {
		return this.#unwritten.size;
	}

	get(incarnation: string): WorkerRecord | undefined {
		return this.#rows.get(incarnation)?.worker;
	}

	/** Oldest first. */
	kept(): readonly WorkerRecord[] {
		return [...this.#rows.values()].map(({ worker }) => worker);
	}

	/** All of the file, with those in memory in their place: these are newer, and may not be written yet. */
	over(written: readonly WorkerRecord[]): readonly WorkerRecord[] {
		const all = new Map(written.map((row) => [row.incarnation, row]));
		for (const row of this.kept()) all.set(row.incarnation, row);
		return [...all.values()];
	}

	/** Adds a row or replaces it; it is unwritten then. */
	put(worker: WorkerRecord): void {
		const { incarnation, status } = worker;
		const ordinal = this.#rows.get(incarnation)?.ordinal ?? this.#ordinals++;
		const row = { worker, ordinal };
		this.#rows.set(incarnation, row);
		this.#unwritten.set(incarnation, row);
		if (status === "ended") this.#ended.add(incarnation);
	}

	/** Takes a row back that was never written. */
	remove(incarnation: string): void {
		this.#rows.delete(incarnation);
		this.#unwritten.delete(incarnation);
	}

	unwritten(): readonly WorkerRow[] {
		return [...this.#unwritten.values()];
	}

	/** The file has lost everything: what is in memory has to be written again. */
	rewrite(): void {
		for (const [incarnation, row] of this.#rows)
			this.#unwritten.set(incarnation, row);
	}

	isUnwritten(incarnation: string): boolean {
		return this.#unwritten.has(incarnation);
	}

	/** Everything is in the file now: what ended long ago is forgotten. */
	written(): void {
		this.#unwritten.clear();
		for (const incarnation of this.#ended) {
			if (this.#ended.size <= ENDED_KEPT) return;
			this.#ended.delete(incarnation);
			this.#rows.delete(incarnation);
			this.#forgotten++;
		}
	}

	/** Of all workers, those in the file alone included. */
	count(status: WorkerStatus): number {
		const kept = this.kept().filter((row) => row.status === status).length;
		return status === "ended" ? kept + this.#forgotten : kept;
	}
}
