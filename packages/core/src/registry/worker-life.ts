import type { WorkerPlace } from "../contract/connection.ts";
import { SnakepitError, StartError } from "../contract/errors.ts";
import type { ProcessIdentity, RunId } from "../contract/identity.ts";
import type {
	HasLifeline,
	Reservation,
	WorkerEnd,
	WorkerRecord,
} from "../contract/process-registry.ts";

// How the record of a worker changes from its reservation to its end. Each throws
// SnakepitError `IMPOSSIBLE_TRANSITION` for a step that does not follow.

/** @param known the record that has this incarnation already. */
export function reserved(
	known: WorkerRecord | undefined,
	reservation: Reservation,
	runId: RunId,
	reservedAt: number,
): WorkerRecord {
	if (known !== undefined)
		throw impossible(reservation.incarnation, "is reserved already");
	return {
		...reservation,
		runId,
		status: "reserved",
		identity: undefined,
		groupId: undefined,
		lifeline: undefined,
		place: undefined,
		reservedAt,
		activatedAt: undefined,
		endedAt: undefined,
		end: undefined,
	};
}

export function activated(
	row: WorkerRecord | undefined,
	incarnation: string,
	identity: ProcessIdentity,
	groupId: number,
	lifeline: HasLifeline,
	activatedAt: number,
): WorkerRecord {
	if (row?.status !== "reserved")
		throw impossible(
			incarnation,
			`is ${row?.status ?? "unknown"}, not reserved`,
		);
	return { ...row, status: "active", identity, groupId, lifeline, activatedAt };
}

export function located(
	row: WorkerRecord | undefined,
	incarnation: string,
	place: WorkerPlace,
): WorkerRecord {
	if (row === undefined) throw impossible(incarnation, "is unknown");
	return { ...row, place };
}

/** Returns `undefined` where the end is recorded already. */
export function ended(
	row: WorkerRecord | undefined,
	incarnation: string,
	end: WorkerEnd,
	endedAt: number,
): WorkerRecord | undefined {
	if (row === undefined) throw impossible(incarnation, "is unknown");
	return row.status === "ended"
		? undefined
		: { ...row, status: "ended", endedAt, end };
}

/** The end without what the worker printed and was asked. */
export function withoutContent({ exit, reason, killer }: WorkerEnd): WorkerEnd {
	return { exit, reason, killer };
}

/** Why a process is not recorded any more: nothing would clean up after it, so it must not run. */
export function runOver(incarnation: string): StartError {
	return new StartError({
		code: "RUN_CLOSED",
		ran: "no",
		message: `Worker ${incarnation} was not started: its run is closed.`,
	});
}

function impossible(incarnation: string, what: string): SnakepitError {
	return new SnakepitError({
		code: "IMPOSSIBLE_TRANSITION",
		ran: "no",
		message: `Worker ${incarnation} ${what}. This is a defect in Snakepit: please report it.`,
	});
}
