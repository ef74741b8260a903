import {
	chmodSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, sep } from "node:path";
import {
	isSameProcess,
	type ProcessIdentity,
} from "../packages/core/src/contract/identity.ts";
import { SystemProcessHost } from "../packages/core/src/os/this-machine.ts";
import { RUN_DIRECTORY, removeDirectory } from "./remove-directory.ts";

/** A temporary directory, and the process that removes it when its tests are over. */
interface TestDirectory {
	readonly path: string;
	readonly owner: ProcessIdentity;
}

const machine = new SystemProcessHost();

/**
 * Makes the temporary directory of a run of tests, and removes those of earlier runs that were killed before they could.
 *
 * @param records where it is recorded which directory belongs to which process: only what is named there is removed.
 * @returns its path, and the function that removes it.
 */
export function makeTestDirectory(records: string): {
	readonly path: string;
	readonly remove: () => void;
} {
	mkdirSync(records, { recursive: true });
	removeOfKilledRuns(records);
	const owner = machine.observe(process.pid);
	if (typeof owner === "string") throw new Error(`This process is ${owner}.`);
	// A short name, for there are sockets in it.
	const path = mkdtempSync(join(tmpdir(), "sp-"));
	// Tests that run as root let another user look at directories of its own in there.
	chmodSync(path, 0o711);
	const record = join(records, basename(path));
	writeFileSync(record, JSON.stringify({ path, owner }));
	const remove = (): void => {
		removeDirectory(path);
		rmSync(record, { force: true });
	};
	return { path, remove };
}

function removeOfKilledRuns(records: string): void {
	for (const name of readdirSync(records)) {
		const record = join(records, name);
		const left = readRecord(record);
		if (left !== undefined && mayLive(left.owner)) continue;
		if (left !== undefined) removeDirectory(left.path);
		rmSync(record, { force: true });
	}
}

function mayLive(owner: ProcessIdentity): boolean {
	const now = machine.observe(owner.pid);
	return typeof now === "string" ? now !== "gone" : isSameProcess(now, owner);
}

/** `undefined` if it was not written to its end, or is gone. */
function readRecord(record: string): TestDirectory | undefined {
	try {
		return JSON.parse(readFileSync(record, "utf8"));
	} catch {
		return undefined;
	}
}

/**
 * The private directories of runs that programs of these tests made outside of the tests' directory, where nothing removes
 * them: their ledgers are in it, and go with it.
 *
 * @param bases where to look.
 */
export function strayRunDirectories(
	testDirectory: string,
	bases: readonly string[],
): readonly string[] {
	return bases.flatMap((base) =>
		readdirSync(base)
			.filter((name) => RUN_DIRECTORY.test(name))
			.map((name) => join(base, name))
			.filter((path) => dataDirectoryOf(path)?.startsWith(testDirectory + sep)),
	);
}

/** The directory of its ledger, as a run records it for those who look at it. */
function dataDirectoryOf(runDirectory: string): string | undefined {
	try {
		const text = readFileSync(join(runDirectory, "control.json"), "utf8");
		return JSON.parse(text).dataDir;
	} catch {
		return undefined; // It has ended, belongs to another user, or has no control.
	}
}
