import { RegistryError } from "../contract/errors.ts";
import type { EventOf } from "../contract/events.ts";
import type { WorkerRecord } from "../contract/process-registry.ts";
import { withFallback } from "../contract/thrown.ts";
import { fateOf } from "./file-identity.ts";
import { type RunContent, readRunFile } from "./history.ts";
import type { StoredRun } from "./ledger.ts";
import type { LedgerDirectory } from "./ledger-directory.ts";
import { ledgerFailure } from "./ledger-failure.ts";
import { RunFile } from "./run-file.ts";
import { createLock, mendLock, RunLock, takeLock } from "./run-lock.ts";
import { type RunName, runPath } from "./run-name.ts";
import type { Sqlite } from "./sqlite.ts";

/** A file of a living run that is no longer the one its host made. */
export interface FileLoss {
	readonly file: "ledger" | "lock";
	readonly path: string;
	readonly how: "removed" | "replaced" | "damaged";
}

/** What a host reports about the files of its run, without the time. */
export type FileEvent =
	| Omit<EventOf<"registry.file_lost">, "wallMs">
	| Omit<EventOf<"registry.file_renewed">, "wallMs">
	| Omit<EventOf<"registry.degraded">, "wallMs">;

/** What {@link OwnFiles.restore} did with the ledger. */
export type LedgerRenewal =
	/** Nothing: it is in place, or it cannot be made again. */
	| "untouched"
	/** Made again with everything that was in it. */
	| "kept"
	/** Made again, and everything has to be written again. */
	| "emptied";

export interface OwnFilesParts {
	readonly sqlite: Sqlite;
	readonly directory: LedgerDirectory;
	readonly name: RunName;
	readonly file: RunFile;
	readonly lock: RunLock;
}

/** The files of a living run, which its host makes again when they are removed, replaced or damaged. */
export class OwnFiles {
	readonly #parts: OwnFilesParts;
	#file: RunFile;
	#lock: RunLock;
	/** Losses that are reported and not yet made good. */
	readonly #reported = new Set<FileLoss["file"]>();
	/** Whether it is reported that something cannot be made again. */
	#failed = false;

	constructor(parts: OwnFilesParts) {
		this.#parts = parts;
		this.#file = parts.file;
		this.#lock = parts.lock;
	}

	get file(): RunFile {
		return this.#file;
	}

	/**
	 * Makes again what is lost, as far as possible, and reports each loss once.
	 *
	 * @param written the living workers that the ledger has to contain.
	 * @param unwritten how many rows are only in memory.
	 */
	restore(
		run: StoredRun,
		written: readonly WorkerRecord[],
		unwritten: number,
		report: (event: FileEvent) => void,
	): LedgerRenewal {
		const { runId } = run;
		const losses = this.#visibleLosses(written);
		for (const { file, path, how } of losses) {
			if (this.#reported.has(file)) continue;
			this.#reported.add(file);
			report({ type: "registry.file_lost", runId, file, path, how });
		}
		let renewal: LedgerRenewal = "untouched";
		for (const { file, path, how } of losses) {
			try {
				if (file === "lock") this.#renewLock();
				else renewal = this.#renewLedger(how, run, written);
			} catch (error) {
				if (this.#failed) return renewal;
				this.#failed = true;
				const { code, message } = ledgerFailure(error, path);
				report({ type: "registry.degraded", code, message, unwritten });
				return renewal;
			}
			this.#reported.delete(file);
			report({ type: "registry.file_renewed", runId, file, path });
		}
		this.#failed = false;
		return renewal;
	}

	/** None when the directory cannot be read. */
	#visibleLosses(written: readonly WorkerRecord[]): readonly FileLoss[] {
		return withFallback([], () => this.losses(written));
	}

	/**
	 * Checks that the files are those that this host made, and that others can read
	 * what is in them.
	 *
	 * @param written the living workers that the ledger has to contain.
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
		// As others read it: what this connection has cached proves nothing about the file.
		const content = readRunFile(sqlite, path, name, "living");
		return isSound(content, written) ? "there" : "damaged";
	}

	/**
	 * Makes the ledger again: with everything that was in it if it was only removed,
	 * otherwise with nothing but the run. What has its path is set aside.
	 *
	 * @throws RegistryError when it cannot be made; the next attempt may succeed.
	 */
	#renewLedger(
		how: FileLoss["how"],
		run: StoredRun,
		written: readonly WorkerRecord[],
	): "kept" | "emptied" {
		const { sqlite, directory, name } = this.#parts;
		const path = runPath(directory.runs, name, "db");
		directory.make();
		if (directory.hasFile(name) && directory.setAside(name) === undefined)
			throw notRenewed(
				path,
				"another file has its name and cannot be moved away",
			);
		// SQLite would take its journal for the new file's.
		directory.removeBeside(name);
		const image = how === "damaged" ? undefined : this.#file.image();
		if (image !== undefined) {
			this.#replaceFile(RunFile.restore(sqlite, path, image));
			if (this.#fateOfLedger(written) === "there") return "kept";
			// It was damaged before it was removed.
			return this.#renewLedger("damaged", run, written);
		}
		this.#replaceFile(RunFile.create(sqlite, path, run));
		return "emptied";
	}

	/** The old one is closed only now: without a new one it still knows what was in it. */
	#replaceFile(file: RunFile): void {
		this.#file.close("goes_on");
		this.#file = file;
	}

	/**
	 * Makes the lock again and takes it.
	 *
	 * @throws RegistryError when that fails; the next attempt may succeed.
	 */
	#renewLock(): void {
		const { sqlite, directory, name } = this.#parts;
		const path = runPath(directory.runs, name, "lock");
		directory.make();
		try {
			let lock = createLock(sqlite, path);
			if (lock === "held") lock = takeLock(sqlite, path);
			if (lock === "refused")
				lock = mendLock(sqlite, path, directory.lockAside(name));
			if (!(lock instanceof RunLock))
				throw notRenewed(path, `another file has its name and is ${lock}`);
			this.#lock.release("kept");
			this.#lock = lock;
		} catch (error) {
			throw ledgerFailure(error, path);
		}
	}

	/** Releases the lock. */
	release(file: "kept" | "removed"): void {
		this.#lock.release(file);
	}
}

/** A file that cannot be read just now is no loss: another process has it locked. */
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
		message: `The file ${path} of this run cannot be recreated: ${reason}. Move that file away; Snakepit tries again at the next audit (audit.intervalMs).`,
	});
}
