import { createHash } from "node:crypto";
import {
	chmodSync,
	existsSync,
	lstatSync,
	readdirSync,
	realpathSync,
	renameSync,
	statSync,
	unlinkSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { RegistryError } from "../contract/errors.ts";
import { withFallback } from "../contract/thrown.ts";
import { makeDirectories, ownershipProblem } from "../os/private-directory.ts";
import { ledgerFailure } from "./ledger-failure.ts";
import { parseRunFile, type RunName, runPath } from "./run-name.ts";
import { BESIDE } from "./sqlite.ts";

/**
 * Where the runs of one user on one machine are: `runs/` has those that live
 * or were not cleaned up after, `history/` those that are over.
 */
export class LedgerDirectory {
	readonly path: string;
	readonly runs: string;
	readonly history: string;
	/**
	 * Names the directory in the markers of its runs, so that a start ends only
	 * what is of its own directory when a run has no record. It stays the same
	 * when the directory is removed and made again.
	 */
	readonly key: string;

	/**
	 * @param manner `"look"` makes nothing and asks for no permission: for readers.
	 * @throws RegistryError when it cannot be made.
	 */
	constructor(path: string, manner: "make" | "look" = "make") {
		this.path = path;
		this.runs = join(path, "runs");
		this.history = join(path, "history");
		if (manner === "make") this.make();
		this.key = keyOf(path);
	}

	/**
	 * Makes what is not there.
	 *
	 * @throws RegistryError when it cannot be made.
	 */
	make(): void {
		try {
			for (const directory of [this.runs, this.history]) {
				makeDirectories(directory, 0o700);
				makePrivate(directory);
			}
		} catch (error) {
			throw ledgerFailure(error, this.path);
		}
	}

	/** The runs that have a file in `runs/`. */
	openRuns(): readonly RunName[] {
		return namesIn(this.runs, "db");
	}

	/** The runs that are over. */
	endedRuns(): readonly RunName[] {
		return namesIn(this.history, "db");
	}

	/** Locks without a run, older than `ageMs`: their owner died between the two, or their run was moved by hand. */
	strayLocks(nowMs: number, ageMs: number): readonly RunName[] {
		return namesIn(this.runs, "lock").filter((name) => {
			if (existsSync(runPath(this.runs, name, "db"))) return false;
			const stats = statSync(runPath(this.runs, name, "lock"), {
				throwIfNoEntry: false,
			});
			return stats !== undefined && nowMs - stats.mtimeMs > ageMs;
		});
	}

	/** Whether another process's run has this id, living or ended. */
	isInUse(name: RunName): boolean {
		const others = [
			...namesIn(this.runs, "db"),
			...namesIn(this.runs, "lock"),
			...namesIn(this.history, "db"),
		];
		return others.some(
			(other) => other.runId === name.runId && other.ownerKey !== name.ownerKey,
		);
	}

	/**
	 * Moves the file of a run that has ended to the history. Whatever prevents it,
	 * the next start tries again: the file itself records that the run has ended.
	 */
	retire(name: RunName): void {
		const path = runPath(this.runs, name, "db");
		// Another process has it locked, so what belongs to it may still be beside it.
		if (BESIDE.some((ending) => existsSync(path + ending))) return;
		try {
			renameSync(path, runPath(this.history, name, "db"));
		} catch {
			// The directory became read-only, or it is moved already.
		}
	}

	/** Where to move what is in the place of a run's lock and is no file. */
	lockAside(name: RunName): string {
		return `${runPath(this.history, name, "lock")}.set-aside`;
	}

	hasFile(name: RunName): boolean {
		return existsSync(runPath(this.runs, name, "db"));
	}

	/** Removes what was beside the file of a run that has none any more. */
	removeBeside(name: RunName): void {
		const path = runPath(this.runs, name, "db");
		const aside = `${runPath(this.history, name, "db")}.set-aside`;
		for (const ending of BESIDE) {
			try {
				unlinkSync(path + ending);
			} catch {
				// There is none, or it is a directory: what is in it is not ours to remove.
				if (existsSync(path + ending))
					renameSync(path + ending, aside + ending);
			}
		}
	}

	/**
	 * Sets a file that cannot be used aside, with what is beside it.
	 *
	 * @returns its new path; `undefined` when it cannot be moved.
	 */
	setAside(name: RunName): string | undefined {
		const path = runPath(this.runs, name, "db");
		const aside = `${runPath(this.history, name, "db")}.set-aside`;
		try {
			renameSync(path, aside);
		} catch {
			return undefined;
		}
		for (const ending of BESIDE)
			if (existsSync(path + ending)) renameSync(path + ending, aside + ending);
		return aside;
	}
}

function keyOf(path: string): string {
	const place = existsSync(path) ? realpathSync(path) : resolve(path);
	return createHash("sha256").update(place).digest("hex").slice(0, 12);
}

/** Who can write here could make us signal processes of their choice. */
function makePrivate(directory: string): void {
	const stats = lstatSync(directory);
	const problem = ownershipProblem(stats, "own");
	if (problem !== undefined)
		throw new RegistryError({
			code: "REGISTRY_UNWRITABLE",
			message: `The ledger's folder ${directory} ${problem}. Remove it, or set dataDir to another directory.`,
		});
	// A copy or a checkout may have opened it.
	if ((stats.mode & 0o077) !== 0) chmodSync(directory, stats.mode & 0o700);
}

function namesIn(directory: string, kind: "db" | "lock"): readonly RunName[] {
	return fileNamesIn(directory)
		.flatMap((fileName) => parseRunFile(fileName) ?? [])
		.filter((file) => file.kind === kind)
		.map((file) => file.name);
}

/** What is in a directory; nothing when another process removed it meanwhile. */
export function fileNamesIn(directory: string): readonly string[] {
	return withFallback([], () => readdirSync(directory));
}
