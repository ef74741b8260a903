import type { ProcessIdentity } from "../identity.ts";
import type { Marker } from "../marker.ts";
import { ownerKey, type RunName } from "../registry/run-name.ts";

/**
 * A marker belongs to a run when it names the run, its data directory and the
 * very process that owned it: two directories may have the same run id. One from another pid
 * namespace says nothing that can be judged from here.
 */
export function ownership(
	name: RunName,
	self: ProcessIdentity,
	directoryKey: string,
): (marker: Marker) => boolean {
	return (marker) =>
		marker.runId === name.runId &&
		marker.directoryKey === directoryKey &&
		marker.pidNamespace === self.pidNamespace &&
		ownerKey(ownerOf(marker, self)) === name.ownerKey;
}

/** The process that a marker names as the owner of its run, as it would be on the machine of `self`. */
export function ownerOf(
	marker: Marker,
	self: ProcessIdentity,
): ProcessIdentity {
	return {
		machineId: self.machineId,
		bootId: marker.bootId,
		pidNamespace: marker.pidNamespace,
		pid: marker.hostPid,
		startTime: marker.hostStartTime,
	};
}
