import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { RunId } from "../run-id.ts";
import { type Incident, type Naming, parseIncident } from "./incident.ts";
import { joinIncidents } from "./joined-incidents.ts";
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
 * @param naming says which worker a process was.
 */
export function readIncidentFiles(
	runDirectory: string,
	ofRun: RunId,
	naming: Naming,
): readonly Incident[] {
	return fileNamesIn(runDirectory)
		.filter((fileName) => FILE_NAME.test(fileName))
		.slice(0, INCIDENT_FILES_LIMIT)
		.flatMap((fileName) => {
			const protection = FILE_NAME.exec(fileName)?.[1];
			return joinIncidents(
				beginningOf(join(runDirectory, fileName))
					.split("\n")
					.flatMap((line) => parseIncident(line, ofRun, naming) ?? [])
					.filter((incident) => incident.protection === protection),
			);
		});
}

/** Nothing for what is not a plain file of this user. */
function beginningOf(path: string): string {
	let descriptor: number | undefined;
	try {
		// A pipe would hold us up, a link could lead anywhere.
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
