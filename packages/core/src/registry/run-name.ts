import { createHash } from "node:crypto";
import { join } from "node:path";
import {
	isRunId,
	type ProcessIdentity,
	type RunId,
} from "../contract/identity.ts";

/**
 * The name of a run's files: which run, and of which process.
 *
 * With the owner in the name a process knows its own runs without opening
 * them, also those of its other threads or of a second copy of the package:
 * closing a second descriptor of a lock file would drop the lock.
 * Source: fcntl(2), record locks.
 */
export interface RunName {
	readonly runId: RunId;
	readonly ownerPid: number;
	/** See {@link ownerKey}. */
	readonly ownerKey: string;
}

/** A process as one short word, equal for the same process only. */
export function ownerKey(owner: ProcessIdentity): string {
	const { machineId, bootId, pidNamespace, pid, startTime } = owner;
	return createHash("sha256")
		.update([machineId, bootId, pidNamespace, pid, startTime].join("\n"))
		.digest("hex")
		.slice(0, 16);
}

export function runNameOf(runId: RunId, owner: ProcessIdentity): RunName {
	return { runId, ownerPid: owner.pid, ownerKey: ownerKey(owner) };
}

/** The part of the file names before the ending. */
export function formatRunName(name: RunName): string {
	return `${name.runId}.${name.ownerPid}-${name.ownerKey}`;
}

export type RunFileKind = "db" | "lock";

/** The path of one of a run's files. */
export function runPath(
	directory: string,
	name: RunName,
	kind: RunFileKind,
): string {
	return join(directory, `${formatRunName(name)}.${kind}`);
}

/** Reads a file name; `undefined` when it is not one of a run. */
export function parseRunFile(
	fileName: string,
): { readonly name: RunName; readonly kind: RunFileKind } | undefined {
	const match = /^([0-9a-z]{7})\.([0-9]{1,10})-([0-9a-f]{16})\.(db|lock)$/.exec(
		fileName,
	);
	const [, runId = "", pid, key = "", kind] = match ?? [];
	if (!isRunId(runId)) return undefined;
	return {
		name: { runId, ownerPid: Number(pid), ownerKey: key },
		kind: kind as RunFileKind,
	};
}
