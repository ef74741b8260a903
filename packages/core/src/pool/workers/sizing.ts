/** How many workers a pool has: the one object of a pool, which changes when the pool is resized. */
export interface PoolSize {
	min: number;
	max: number;
}

/** The numbers that decide how many workers are started. */
export interface SizeView {
	readonly min: number;
	readonly max: number;
	/** Slots with a worker that is ready or on its way. */
	readonly occupied: number;
	/** Of those, slots whose worker is on its way. */
	readonly starting: number;
	readonly waitingCalls: number;
	readonly callsPerWorker: number;
}

/** How many more workers to start now: up to the minimum always, above it only for calls that wait. */
export function workersToStart(view: SizeView): number {
	const toMin = Math.max(0, view.min - view.occupied);
	const expected = (view.starting + toMin) * view.callsPerWorker;
	const forDemand = Math.max(
		0,
		Math.ceil((view.waitingCalls - expected) / view.callsPerWorker),
	);
	return Math.min(toMin + forDemand, Math.max(0, view.max - view.occupied));
}

/** What a worker does when the pool becomes smaller, in the order in which such workers leave. */
const LEAVES_FIRST = ["starting", "idle", "busy", "in_session"] as const;

export type WorkerUse = (typeof LEAVES_FIRST)[number];

/** Which workers leave so that `max` are left: unused ones first; among equal ones, those with the highest index. */
export function surplusWorkers<
	Candidate extends { readonly index: number; readonly use: WorkerUse },
>(workers: readonly Candidate[], max: number): readonly Candidate[] {
	const rank = ({ use }: Candidate): number => LEAVES_FIRST.indexOf(use);
	return workers
		.toSorted((a, b) => rank(a) - rank(b) || b.index - a.index)
		.slice(0, Math.max(0, workers.length - max));
}
