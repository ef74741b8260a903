import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../contract/clock.ts";
import type { SnakepitEvent } from "../contract/events.ts";
import type { WorkerRecord } from "../contract/process-registry.ts";
import { messageOf } from "../contract/thrown.ts";
import {
	type DirectoryLoss,
	lossOf,
	renewRunDirectory,
} from "../os/private-directory.ts";
import {
	createSharedDirectory,
	directoriesOf,
	sharedDirectoryOf,
} from "../os/shared-memory.ts";
import type { RunName } from "../registry/run-name.ts";

export interface OwnDirectoriesParts {
	readonly name: RunName;
	/** As it was made with the run. */
	readonly directory: string;
	readonly clock: Clock;
	readonly emit: (event: SnakepitEvent) => void;
	/** Those that may have directories of their own in it. */
	readonly living: () => readonly WorkerRecord[];
	/** Records that it is elsewhere. */
	readonly moved: (directory: string) => void;
	/** Makes the directory in shared memory, where there is some. */
	readonly createShared?: typeof createSharedDirectory;
}

type Kind = "runtime" | "shared_memory";

/**
 * The private directories of a living run. Whoever asks for one gets one that is there: what a cleaner of temporary files
 * or a logout removed, or what is of the user that this program was before, is made again.
 */
export class OwnDirectories {
	readonly #parts: OwnDirectoriesParts;
	#directory: string;
	#shared: string | undefined;
	readonly #createShared: typeof createSharedDirectory;
	/** Without shared memory at the beginning there will be none. */
	readonly #hasShared: boolean;
	/** Earlier ones, in which workers may still have files. */
	readonly #former: string[] = [];
	/** Losses that are reported and not yet made good, with what was lost. */
	readonly #reported = new Map<Kind, string>();

	constructor(parts: OwnDirectoriesParts) {
		this.#parts = parts;
		this.#directory = parts.directory;
		this.#createShared = parts.createShared ?? createSharedDirectory;
		this.#shared = this.#createShared(parts.directory);
		this.#hasShared = this.#shared !== undefined;
	}

	/** For sockets and scratch files. Where it cannot be made again, the lost one: a start there fails with the reason. */
	get directory(): string {
		const how = lossOf(this.#directory);
		if (how !== undefined) this.#renew(how);
		return this.#directory;
	}

	/** The same in shared memory; `undefined` where there is none, and large values are sent in messages. */
	get shared(): string | undefined {
		if (!this.#hasShared) return undefined;
		// A cleanup that removes the one finds the other by its name.
		const path = sharedDirectoryOf(this.directory);
		if (lossOf(path) === undefined) this.#shared = path;
		else this.#renewShared(this.#shared ?? path, path);
		return this.#shared;
	}

	/**
	 * What to remove when the run has ended.
	 *
	 * @param over whether its record goes, too; otherwise, that needs the first one as evidence of what to remove.
	 * @param isUsed whether processes of it may live.
	 */
	removable(over: boolean, isUsed: boolean): readonly string[] {
		if (!over && isUsed) return [];
		const { name, directory } = this.#parts;
		return [this.#directory, ...this.#former]
			.filter((path) => over || path !== directory)
			.flatMap((path) => directoriesOf(path, name.runId));
	}

	#renew(how: DirectoryLoss): void {
		const { name, moved } = this.#parts;
		const lost = this.#directory;
		try {
			const path = renewRunDirectory(lost, name.runId, name.ownerKey);
			this.#directory = path;
			if (path === lost) this.#refill(path);
			else {
				this.#former.push(lost);
				moved(path);
			}
			this.#report("runtime", lost, how, { path });
		} catch (error) {
			this.#report("runtime", lost, how, { reason: messageOf(error) });
		}
	}

	#renewShared(lost: string, path: string): void {
		const how = lossOf(lost);
		this.#shared = this.#createShared(this.#directory);
		if (this.#shared !== undefined) this.#refill(path);
		// Otherwise it only follows the other one.
		if (how === undefined) return;
		const reason = `${path} cannot be created.`;
		const result = this.#shared === undefined ? { reason } : { path };
		this.#report("shared_memory", lost, how, result);
	}

	/** Workers that run get their own directories in it again. */
	#refill(path: string): void {
		for (const { files } of this.#parts.living())
			for (const each of files) {
				if (dirname(each) !== path) continue;
				try {
					mkdirSync(each, { mode: 0o700 });
				} catch {
					// That worker goes on without it.
				}
			}
	}

	/** Whoever asks for a directory is in the middle of a start: events come after that. */
	#report(
		directory: Kind,
		lost: string,
		how: DirectoryLoss,
		result: { readonly path?: string; readonly reason?: string },
	): void {
		const { clock, emit, name } = this.#parts;
		const about = { wallMs: clock.wall(), runId: name.runId, directory };
		const { path, reason } = result;
		const isNew = !this.#reported.has(directory);
		const instead = this.#reported.get(directory) ?? lost;
		if (path === undefined) this.#reported.set(directory, instead);
		else this.#reported.delete(directory);
		clock.soon(() => {
			if (isNew)
				emit({ type: "run.directory_lost", ...about, path: lost, how, reason });
			if (path !== undefined)
				emit({ type: "run.directory_renewed", ...about, path, instead });
		});
	}
}
