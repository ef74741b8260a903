import { type FSWatcher, type Stats, statSync, watch } from "node:fs";
import { basename, dirname, join, sep } from "node:path";

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
export class SourceWatch {
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
	const found = statOf(file);
	if (found === undefined) return { stamp: "absent", mtimeMs: undefined };
	const { ino, size, mtimeMs } = found;
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
