import type { EventOf } from "../events.ts";
import type { RunId } from "../run-id.ts";
import type { StoredRun } from "./ledger.ts";
import { ledgerFailure } from "./ledger-failure.ts";
import type { FileLoss, OwnFiles } from "./own-files.ts";
import type { WorkerRecord } from "./process-registry.ts";

/** What is told of the files of a living run, without its time. */
export type FileEvent =
	| Omit<EventOf<"registry.file_lost">, "wallMs">
	| Omit<EventOf<"registry.file_renewed">, "wallMs">
	| Omit<EventOf<"registry.degraded">, "wallMs">;

/** What a look did with the ledger. */
export type LedgerRenewal =
	/** Nothing: it is there, or it cannot be made anew. */
	| "untouched"
	/** It was made anew with everything that was in it. */
	| "kept"
	/** It was made anew, and everything has to be written again. */
	| "emptied";

type WatchedFiles = Pick<OwnFiles, "losses" | "renewLedger" | "renewLock">;

/** Looks after the files of a living run: tells each loss once, and makes anew what it can. */
export class FileWatch {
	readonly #files: WatchedFiles;
	readonly #tell: (event: FileEvent) => void;
	/** Losses that were told and are not made good. */
	readonly #told = new Set<FileLoss["file"]>();
	/** Whether it was told that something cannot be made anew. */
	#failed = false;

	constructor(files: WatchedFiles, tell: (event: FileEvent) => void) {
		this.#files = files;
		this.#tell = tell;
	}

	/**
	 * @param written the living workers that the ledger has to hold.
	 * @param unwritten how many rows are only in memory.
	 */
	look(
		run: StoredRun,
		written: readonly WorkerRecord[],
		unwritten: number,
	): LedgerRenewal {
		const losses = this.#losses(written);
		for (const loss of losses) this.#tellLoss(run.runId, loss);
		let renewal: LedgerRenewal = "untouched";
		for (const loss of losses) {
			try {
				if (loss.file === "lock") this.#files.renewLock();
				else
					renewal = this.#files.renewLedger(loss.how, run, written)
						? "kept"
						: "emptied";
			} catch (error) {
				this.#tellFailure(error, loss, unwritten);
				return renewal;
			}
			this.#told.delete(loss.file);
			const { file, path } = loss;
			const { runId } = run;
			this.#tell({ type: "registry.file_renewed", runId, file, path });
		}
		this.#failed = false;
		return renewal;
	}

	/** A directory that cannot be looked at says nothing. */
	#losses(written: readonly WorkerRecord[]): readonly FileLoss[] {
		try {
			return this.#files.losses(written);
		} catch {
			return [];
		}
	}

	#tellLoss(runId: RunId, { file, path, how }: FileLoss): void {
		if (this.#told.has(file)) return;
		this.#told.add(file);
		this.#tell({ type: "registry.file_lost", runId, file, path, how });
	}

	#tellFailure(error: unknown, { path }: FileLoss, unwritten: number): void {
		if (this.#failed) return;
		this.#failed = true;
		const { code, message } = ledgerFailure(error, path);
		this.#tell({ type: "registry.degraded", code, message, unwritten });
	}
}
