import type { SparedReason } from "../contract/events.ts";
import {
	compareIdentity,
	type Marker,
	type Observation,
	type ProcessIdentity,
} from "../contract/identity.ts";
import { ownerKey, type RunName } from "../registry/run-name.ts";

/** Whether a run may be cleaned up after. */
export type OwnerVerdict =
	/** Its owner is provably gone. */
	| "dead"
	/** So is the boot that it lived in, and with it every process of it. */
	| "dead_with_its_boot"
	| { readonly spared: SparedReason };

/**
 * Decides by identity whether a run's owner is provably gone. Asked once its
 * lock was free: only both together are a proof.
 *
 * A live instance is never touched, and what cannot be decided from here is
 * reported and left alone.
 */
export function judgeOwner(
	owner: ProcessIdentity,
	self: ProcessIdentity,
	observed: Observation,
): OwnerVerdict {
	if (owner.machineId !== self.machineId) return { spared: "other_machine" };
	if (owner.bootId !== self.bootId) return "dead_with_its_boot";
	if (owner.pidNamespace !== self.pidNamespace)
		return { spared: "other_pid_namespace" };
	const verdict = compareIdentity(owner, self, observed);
	if (verdict === "same") return { spared: "owner_alive" };
	return verdict === "gone" ? "dead" : { spared: "identity_unknown" };
}

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
