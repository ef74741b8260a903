import type { ProcessIdentity } from "./identity.ts";
import { isRunId, type RunId } from "./run-id.ts";

/**
 * The environment variable that every worker carries and its children inherit,
 * so that descendants which left the process group can still be found.
 *
 * Evidence, not proof: a program can overwrite or clear it.
 */
export const MARKER_VARIABLE = "SNAKEPIT_RUN";

/** The environment variable beside the marker that names the incarnation a process descends from. */
export const INCARNATION_VARIABLE = "SNAKEPIT_WORKER";

/** The environment variable of a guard: the marker of the run that it guards. No worker inherits it. */
export const GUARD_VARIABLE = "SNAKEPIT_GUARD";

/** What the marker contains: which run, of which host process, in which data directory. */
export interface Marker {
	readonly runId: RunId;
	/** Names the data directory of the run; see `LedgerDirectory.key`. */
	readonly directoryKey: string;
	readonly bootId: string;
	readonly pidNamespace: string;
	readonly hostPid: number;
	readonly hostStartTime: string;
}

/** The marker of the run `runId` whose host is `host`, in the data directory that `directoryKey` names. */
export function markerOf(
	runId: RunId,
	host: ProcessIdentity,
	directoryKey: string,
): Marker {
	return {
		runId,
		directoryKey,
		bootId: host.bootId,
		pidNamespace: host.pidNamespace,
		hostPid: host.pid,
		hostStartTime: host.startTime,
	};
}

/** Whether a marker is of the run `runId` whose host is `host`: another data directory may have the same run id. */
export function isMarkerOf(
	marker: Marker,
	runId: RunId,
	host: ProcessIdentity,
): boolean {
	return (
		marker.runId === runId &&
		marker.bootId === host.bootId &&
		marker.pidNamespace === host.pidNamespace &&
		marker.hostPid === host.pid &&
		marker.hostStartTime === host.startTime
	);
}

/** Writes a marker as the value of {@link MARKER_VARIABLE}: six fields, `:` between them. */
export function formatMarker(marker: Marker): string {
	return [
		marker.runId,
		marker.directoryKey,
		marker.bootId,
		marker.pidNamespace,
		marker.hostPid,
		encodeURIComponent(marker.hostStartTime),
	].join(":");
}

/** Reads a marker; `undefined` when `text` is not one. */
export function parseMarker(text: string): Marker | undefined {
	const fields = text.split(":");
	const [runId, directoryKey, bootId, pidNamespace, pid, startTime] = fields;
	if (
		fields.length !== 6 ||
		!runId ||
		!directoryKey ||
		!bootId ||
		!pidNamespace ||
		!pid ||
		!startTime
	)
		return undefined;
	if (!isRunId(runId) || !/^[1-9][0-9]{0,9}$/.test(pid)) return undefined;
	try {
		return {
			runId,
			directoryKey,
			bootId,
			pidNamespace,
			hostPid: Number(pid),
			hostStartTime: decodeURIComponent(startTime),
		};
	} catch {
		return undefined; // A malformed percent escape: not ours.
	}
}
