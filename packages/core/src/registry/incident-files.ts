import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { processKey, type RunId } from "../contract/identity.ts";
import type { WorkerRecord } from "../contract/process-registry.ts";
import {
	type Incident,
	joinIncidents,
	type Naming,
	parseIncident,
} from "./incidents.ts";
import { fileNamesIn } from "./ledger-directory.ts";

/** A protection without a database writes its incidents into such a file of the run's directory, one line of JSON each. */
const FILE_NAME = /^incidents\.([a-z][a-z0-9-]{0,39})\.jsonl$/;
/** Of each file; some thousands of incidents. */
export const INCIDENT_FILE_LIMIT_BYTES = 1_048_576;
/** More protections than a run could have. */
export const INCIDENT_FILES_LIMIT = 8;

/**
 * Reads the incidents that protections left in a run's directory, and leaves
 * out whatever is not one: anything of this user's could have written there.
 *
 * @param workers those of the run, by which processes are named; read once, when there is something to name.
 */
export function readIncidentFiles(
	runDirectory: string,
	ofRun: RunId,
	workers: () => readonly RecordedProcess[],
): readonly Incident[] {
	const naming = recordedNames(workers);
	const incidents = fileNamesIn(runDirectory)
		.filter((fileName) => FILE_NAME.test(fileName))
		.slice(0, INCIDENT_FILES_LIMIT)
		.flatMap((fileName) => {
			const protection = FILE_NAME.exec(fileName)?.[1];
			return beginningOf(join(runDirectory, fileName))
				.split("\n")
				.flatMap((line) => parseIncident(line, ofRun, naming) ?? [])
				.filter((incident) => incident.protection === protection);
		});
	return joinIncidents(incidents);
}

export type RecordedProcess = Pick<WorkerRecord, "incarnation" | "identity">;

/**
 * Names processes by the record: the nearest recorded one on the line is the
 * worker that it was, or descends from.
 *
 * A guard knows only the processes that it forked itself. Where one of them is a
 * preloaded parent, other workers descend from it, so the name that a guard wrote
 * counts for that process alone, and not for its descendants.
 */
export function recordedNames(
	workers: () => readonly RecordedProcess[],
): Naming {
	let names: ReadonlyMap<string, string> | undefined;
	return (line, written) => {
		names ??= new Map(
			workers().flatMap(({ incarnation, identity }) =>
				identity === undefined ? [] : [[processKey(identity), incarnation]],
			),
		);
		for (const process of line) {
			const name = names.get(processKey(process));
			if (name !== undefined) return name;
		}
		return line.length > 1 ? undefined : written;
	};
}

/** Empty for what is not a plain file of this user. */
function beginningOf(path: string): string {
	let descriptor: number | undefined;
	try {
		// A pipe would block, a link could lead anywhere.
		const flags =
			constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
		descriptor = openSync(path, flags);
		const stats = fstatSync(descriptor);
		if (!stats.isFile() || stats.uid !== process.getuid?.()) return "";
		const bytes = Buffer.alloc(Math.min(stats.size, INCIDENT_FILE_LIMIT_BYTES));
		const length = readSync(descriptor, bytes, 0, bytes.length, 0);
		return bytes.toString("utf8", 0, length);
	} catch {
		return "";
	} finally {
		if (descriptor !== undefined) closeSync(descriptor);
	}
}
