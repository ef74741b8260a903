import { RegistryError } from "../errors.ts";
import { fateOf } from "./file-identity.ts";
import type { StoredRun } from "./ledger.ts";
import type { LedgerDirectory } from "./ledger-directory.ts";
import { ledgerFailure } from "./ledger-failure.ts";
import type { WorkerRecord } from "./process-registry.ts";
import { type RunContent, readRunFile } from "./read-run-file.ts";
import { RunFile } from "./run-file.ts";
import { createLock, mendLock, RunLock, takeLock } from "./run-lock.ts";
import { type RunName, runPath } from "./run-name.ts";
import type { Sqlite } from "./sqlite.ts";

/** A file of a living run that is not any more what its host made. */
export interface FileLoss {
	readonly file: "ledger" | "lock";
	readonly path: string;
	readonly how: "removed" | "replaced" | "damaged";
}

export interface OwnFilesParts {
	readonly sqlite: Sqlite;
	readonly directory: LedgerDirectory;
	readonly name: RunName;
	readonly file: RunFile;
	readonly lock: RunLock;
}

/** The files of a living run, which its host makes anew when somebody takes or damages them. */
export class OwnFiles {
	readonly #parts: OwnFilesParts;
	#file: RunFile;
	#lock: RunLock;

	constructor(parts: OwnFilesParts) {
		this.#parts = parts;
		this.#file = parts.file;
		this.#lock = parts.lock;
	}

	get file(): RunFile {
		return this.#file;
	}

	/**
	 * Looks whether the files are those that this host made, and whether others can
	 * read what is in them.
	 *
	 * @param written the living workers that the file has to hold.
	 */
	losses(written: readonly WorkerRecord[]): readonly FileLoss[] {
		const { path } = this.#file;
		const how = this.#fateOfLedger(written);
		const ofLock = fateOf(this.#lock.path, this.#lock.identity);
		return [
			...(how === "there" ? [] : [{ file: "ledger", path, how } as const]),
			...(ofLock === "there"
				? []
				: [{ file: "lock", path: this.#lock.path, how: ofLock } as const]),
		];
	}

	#fateOfLedger(written: readonly WorkerRecord[]): FileLoss["how"] | "there" {
		const { sqlite, name } = this.#parts;
		const { path, identity } = this.#file;
		const fate = fateOf(path, identity);
		if (fate !== "there") return fate;
		// As others read it: what this connection remembers says nothing of the file.
		const content = readRunFile(sqlite, path, name, "living");
		return isSound(content, written) ? "there" : "damaged";
	}

	/**
	 * Makes the ledger anew: with everything that was in it, if it was only taken
	 * away, and else empty but for the run. What has its path is set aside.
	 *
	 * @param written the living workers that the file has to hold.
	 * @returns whether it holds everything that was written before.
	 * @throws RegistryError when it cannot be made; the next attempt may succeed.
	 */
	renewLedger(
		how: FileLoss["how"],
		run: StoredRun,
		written: readonly WorkerRecord[],
	): boolean {
		const { sqlite, directory, name } = this.#parts;
		const path = runPath(directory.runs, name, "db");
		directory.make();
		if (directory.hasFile(name) && directory.setAside(name) === undefined)
			throw notRenewed(path, "what has its name cannot be moved away");
		// Its journal is by its name the new one's.
		directory.removeBeside(name);
		const image = how === "damaged" ? undefined : this.#file.image();
		if (image !== undefined) {
			this.#open(RunFile.restore(sqlite, path, image));
			if (this.#fateOfLedger(written) === "there") return true;
			// It was damaged before it was taken away.
			return this.renewLedger("damaged", run, written);
		}
		this.#open(RunFile.create(sqlite, path, run));
		return false;
	}

	/** The old one is closed only now: without another it still says what was in it. */
	#open(file: RunFile): void {
		this.#file.close("goes_on");
		this.#file = file;
	}

	/**
	 * Makes the lock anew and holds it.
	 *
	 * @throws RegistryError when that cannot be; the next attempt may succeed.
	 */
	renewLock(): void {
		const { sqlite, directory, name } = this.#parts;
		const path = runPath(directory.runs, name, "lock");
		directory.make();
		try {
			let lock = createLock(sqlite, path);
			if (lock === "held") lock = takeLock(sqlite, path);
			if (lock === "refused")
				lock = mendLock(sqlite, path, directory.lockAside(name));
			if (!(lock instanceof RunLock))
				throw notRenewed(path, `what has its name is ${lock}`);
			this.#lock.release("kept");
			this.#lock = lock;
		} catch (error) {
			throw ledgerFailure(error, path);
		}
	}

	/** Lets go of the lock. */
	release(file: "kept" | "removed"): void {
		this.#lock.release(file);
	}
}

/** A file that cannot be read just now is no loss: somebody holds it. */
function isSound(
	content: RunContent,
	written: readonly WorkerRecord[],
): boolean {
	if (content.kind !== "readable") return content.kind === "unreadable";
	const there = new Map(
		content.workers.map((each) => [each.incarnation, each]),
	);
	return written.every(
		({ incarnation, status }) => there.get(incarnation)?.status === status,
	);
}

function notRenewed(path: string, reason: string): RegistryError {
	return new RegistryError({
		code: "REGISTRY_UNWRITABLE",
		ran: "no",
		message: `The file ${path} of this run cannot be made anew: ${reason}. Move it away; it is made at the next look (audit.intervalMs).`,
	});
}
