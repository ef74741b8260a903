import { type FSWatcher, type Stats, statSync, watch } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import type { ReloadablePool } from "@snakepit/core/adapter";
import type { ResolvedOptions } from "../options.ts";

/** A watched directory; `missing` if it does not exist, so that its parent is watched. */
interface Watched {
	readonly watcher: FSWatcher | "missing";
	readonly inode: number | undefined;
}

/** What tells two states of a file apart. */
interface Look {
	readonly stamp: string;
	readonly mtimeMs: number | undefined;
}

/**
 * Reports files that change, by watching their directories: an editor that renames a new file, or a checkout that
 * replaces a directory, does not change a watched file itself. It does not keep the program running.
 */
class SourceWatch {
	/** Whether new directories, and Python files beside the known ones, are also reported. */
	strangers: "ignored" | "reported" = "ignored";
	readonly #onChange: (file: string) => void;
	readonly #files = new Map<string, string>();
	readonly #directories = new Map<string, Watched>();
	#refusal: "none" | "reported" = "none";

	constructor(onChange: (file: string) => void) {
		this.#onChange = onChange;
	}

	/** Watches a file that was read after a moment, and reports it at once if it has changed since. */
	add(file: string, sinceMs: number): void {
		if (this.#files.has(file)) return;
		// The order matters: a change in between is then seen twice instead of never.
		this.#watchDirectory(dirname(file));
		const { stamp, mtimeMs } = lookAt(file);
		this.#files.set(file, stamp);
		// A time in the future does not count as a change: it would count for ever.
		if (mtimeMs !== undefined && mtimeMs > sinceMs && mtimeMs <= Date.now())
			this.#onChange(file);
	}

	close(): void {
		for (const { watcher } of this.#directories.values()) end(watcher);
		this.#directories.clear();
		this.#files.clear();
	}

	#watchDirectory(directory: string): void {
		if (this.#directories.has(directory)) return;
		let watcher: FSWatcher;
		try {
			watcher = watch(directory, { persistent: false });
		} catch (error) {
			this.#directories.set(directory, {
				watcher: "missing",
				inode: undefined,
			});
			const { code } = error as NodeJS.ErrnoException;
			if (code !== "ENOENT" && code !== "ENOTDIR")
				this.#refused(directory, error);
			else if (dirname(directory) !== directory)
				this.#watchDirectory(dirname(directory));
			return;
		}
		watcher.on("change", (_, name) =>
			this.#seen(directory, String(name ?? "")),
		);
		watcher.on("error", () => this.#again(directory));
		this.#directories.set(directory, { watcher, inode: inodeOf(directory) });
	}

	/** Something happened to an entry of a directory, or to the directory itself, which has its own name then. */
	#seen(directory: string, name: string): void {
		if (name === "" || name === basename(directory)) this.#compare(directory);
		const path = join(directory, name);
		if (this.#files.has(path)) this.#compareFile(path);
		else if (this.#directories.has(path)) this.#compare(path);
		else if (this.strangers === "reported") this.#stranger(path);
	}

	#compareFile(file: string): void {
		const { stamp } = lookAt(file);
		// The rights or the time of the last access have changed.
		if (this.#files.get(file) === stamp) return;
		this.#files.set(file, stamp);
		this.#onChange(file);
	}

	/** Watches a directory again if another one now has its name. */
	#compare(directory: string): void {
		if (this.#directories.get(directory)?.inode !== inodeOf(directory))
			this.#again(directory);
	}

	#again(directory: string): void {
		const below = `${directory}${sep}`;
		const affected = [...this.#directories.keys()].filter(
			(each) => each === directory || each.startsWith(below),
		);
		for (const each of affected) {
			end(this.#directories.get(each)?.watcher);
			this.#directories.delete(each);
		}
		for (const each of affected) this.#watchDirectory(each);
		for (const file of this.#files.keys())
			if (file.startsWith(below)) this.#compareFile(file);
	}

	#stranger(path: string): void {
		const name = basename(path);
		if (name.startsWith(".") || name === "__pycache__") return;
		if (name.endsWith(".py")) this.add(path, Number.POSITIVE_INFINITY);
		else if (isDirectory(path)) this.#watchDirectory(path);
		else return;
		this.#onChange(path);
	}

	#refused(directory: string, error: unknown): void {
		if (this.#refusal === "reported") return;
		this.#refusal = "reported";
		process.emitWarning(
			`Changes in ${directory} cannot be watched: ${String(error)}. On Linux, the limits are fs.inotify.max_user_watches and fs.inotify.max_user_instances.`,
			"SnakepitWarning",
		);
	}
}

function end(watcher: FSWatcher | "missing" | undefined): void {
	if (typeof watcher === "object") watcher.close();
}

function lookAt(file: string): Look {
	const stats = statOf(file);
	if (stats === undefined) return { stamp: "absent", mtimeMs: undefined };
	const { ino, size, mtimeMs } = stats;
	return { stamp: `${ino} ${size} ${mtimeMs}`, mtimeMs };
}

function inodeOf(directory: string): number | undefined {
	return statOf(directory)?.ino;
}

function isDirectory(path: string): boolean {
	return statOf(path)?.isDirectory() ?? false;
}

/** Also nothing if this user may not read it. */
function statOf(path: string): Stats | undefined {
	try {
		return statSync(path);
	} catch {
		return undefined;
	}
}

/** The source files that the workers of an adapter have loaded, and the pools that are reloaded when one changes. */
export class WatchedSources {
	readonly #parent: "kept" | "renewed";
	/** Each with the time after which it was loaded, in milliseconds since the Unix epoch. */
	readonly #files = new Map<string, number>();
	readonly #reloaders = new Set<Reloader>();

	constructor({ preload }: Pick<ResolvedOptions, "preload">) {
		const imports =
			typeof preload === "object" &&
			(preload.tools === "imported" || preload.modules.length > 0);
		this.#parent = imports ? "renewed" : "kept";
	}

	/** A worker has loaded files. */
	readonly note = (files: readonly string[], sinceMs: number): void => {
		for (const file of files) this.#files.set(file, sinceMs);
		for (const reloader of this.#reloaders) reloader.add(files, sinceMs);
	};

	/** Reloads the pool from now on; returns a function that stops this. */
	watch(pool: ReloadablePool): () => void {
		const reloader = new Reloader(pool, this.#parent);
		this.#reloaders.add(reloader);
		for (const [file, sinceMs] of this.#files) reloader.add([file], sinceMs);
		return () => {
			this.#reloaders.delete(reloader);
			reloader.close();
		};
	}
}

/** An editor, a formatter or a checkout changes several files, or one file several times, within a shorter time. */
const SETTLE_MS = 50;
/** The names of files in Python's tracebacks and syntax errors. */
const NAMED = /^\s*File "([^"\n]+\.py)", line \d+/gm;
/** Files of Python itself and of packages do not change while tools are written. */
const INSTALLED = /\/(site-packages|dist-packages|lib\/python3[^/]*)\//;

/** Reloads one pool when its source files have changed and nothing has changed for a moment. */
class Reloader {
	readonly #pool: ReloadablePool;
	readonly #parent: "kept" | "renewed";
	readonly #watch: SourceWatch;
	readonly #changed = new Set<string>();
	#settling: { cancel(): void } | undefined;
	#phase: "waiting" | "reloading" | "closed" = "waiting";

	constructor(pool: ReloadablePool, parent: "kept" | "renewed") {
		this.#pool = pool;
		this.#parent = parent;
		this.#watch = new SourceWatch((file) => {
			this.#changed.add(file);
			this.#settle();
		});
	}

	/** A worker loaded these files after a moment, in milliseconds since the Unix epoch. */
	add(files: readonly string[], sinceMs: number): void {
		if (this.#phase === "closed") return;
		for (const file of files) this.#watch.add(file, sinceMs);
	}

	close(): void {
		this.#phase = "closed";
		this.#settling?.cancel();
		this.#watch.close();
	}

	#settle(): void {
		// Changes during a reload are loaded by another reload after it.
		if (this.#phase !== "waiting") return;
		this.#settling?.cancel();
		this.#settling = this.#pool.after(SETTLE_MS, () => void this.#reload());
	}

	async #reload(): Promise<void> {
		this.#phase = "reloading";
		const files = [...this.#changed].sort();
		this.#changed.clear();
		const begunMs = Date.now();
		const error = await this.#pool.reload(files, this.#parent);
		if (this.#isClosed()) return;
		this.#phase = "waiting";
		// The file that could not be loaded may be unknown to the workers, or may not exist yet.
		this.#watch.strangers = error === undefined ? "ignored" : "reported";
		for (const file of filesNamedIn(error?.message ?? ""))
			this.#watch.add(file, begunMs);
		if (this.#changed.size > 0) this.#settle();
	}

	#isClosed(): boolean {
		return this.#phase === "closed";
	}
}

/** The files of the user's own in a traceback. */
function filesNamedIn(text: string): readonly string[] {
	const files = [...text.matchAll(NAMED)].map(([, file = ""]) => file);
	return [...new Set(files)].filter(
		(file) => file.startsWith("/") && !INSTALLED.test(file),
	);
}
