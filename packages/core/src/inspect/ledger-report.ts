import {
	accessSync,
	constants,
	existsSync,
	mkdtempSync,
	rmdirSync,
	rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { LayerReport } from "../contract/protection.ts";
import { absolutePath } from "../contract/working-directory.ts";
import { createLock, RunLock, takeLock } from "../registry/run-lock.ts";
import type { Sqlite } from "../registry/sqlite.ts";

const LAYER = "ledger";
const ELSEWHERE =
	"Name a directory of your own on a local disk with the option dataDir.";

/**
 * Looks whether the ledger can be used where it is, or where it would be made.
 *
 * @param path `undefined` when there is none yet.
 */
export function inspectLedger(
	sqlite: Sqlite,
	path: string | undefined,
	dataDir: string | undefined,
): LayerReport {
	if (path !== undefined) return inspectExisting(sqlite, path);
	if (dataDir === undefined)
		return {
			layer: LAYER,
			status: "available",
			detail: "does not exist yet; the first pool creates it",
		};
	const nearest = nearestExisting(absolutePath(dataDir, "The directory"));
	const complaint = complaintAboutMaking(nearest);
	return complaint === undefined
		? {
				layer: LAYER,
				status: "available",
				detail: `does not exist yet; the first pool creates it in ${dataDir}`,
			}
		: unusable(`${dataDir} cannot be created: ${complaint}`);
}

function inspectExisting(sqlite: Sqlite, path: string): LayerReport {
	const complaint =
		complaintAboutWriting(path) ?? complaintAboutLocks(sqlite, path);
	return complaint === undefined
		? {
				layer: LAYER,
				status: "active",
				detail: `every worker is recorded in ${path} before it starts`,
			}
		: unusable(complaint);
}

function unusable(detail: string): LayerReport {
	return { layer: LAYER, status: "unavailable", detail, remedy: ELSEWHERE };
}

function nearestExisting(path: string): string {
	return existsSync(path) ? path : nearestExisting(dirname(path));
}

function complaintAboutWriting(path: string): string | undefined {
	try {
		accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
		return undefined;
	} catch (error) {
		return `${path} cannot be written (${(error as Error).message})`;
	}
}

/** Makes a directory in it, which is removed at once: permissions alone do not show whether that is possible. */
function complaintAboutMaking(path: string): string | undefined {
	try {
		rmdirSync(mkdtempSync(join(path, ".doctor-")));
		return undefined;
	} catch (error) {
		return `no directory can be created in ${path} (${(error as Error).message})`;
	}
}

/** Takes a lock in a directory of its own, which is removed at once, and looks whether it holds. */
function complaintAboutLocks(sqlite: Sqlite, path: string): string | undefined {
	let probe: string | undefined;
	try {
		probe = mkdtempSync(join(path, ".doctor-"));
		const lockPath = join(probe, "probe.lock");
		const lock = createLock(sqlite, lockPath);
		if (!(lock instanceof RunLock))
			return `${path} is on a file system that cannot lock (${lock})`;
		const second = takeLock(sqlite, lockPath);
		if (second instanceof RunLock) second.release("kept");
		lock.release("removed");
		return second === "held"
			? undefined
			: `${path} is on a file system whose locks do not hold`;
	} catch (error) {
		return `${path} cannot be used (${(error as Error).message})`;
	} finally {
		if (probe !== undefined) rmSync(probe, { recursive: true, force: true });
	}
}
