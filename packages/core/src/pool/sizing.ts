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
