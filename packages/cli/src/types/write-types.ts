import { execFile } from "node:child_process";
import {
	existsSync,
	type FSWatcher,
	readFileSync,
	watch,
	writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import type { ToolSource } from "@snakepit/adapter-python";
import { absolutePath, workingDirectory } from "@snakepit/core/adapter";
import { CommandFailed } from "../command/failures.ts";
import { write } from "../command/output.ts";
import { loadPeers } from "../command/packages.ts";

/** Where types are written, and when. */
export interface TypesFlags {
	readonly output?: string;
	readonly watch?: true;
	readonly python?: string;
}

/** Writes the types of tools, once or at each change. */
export async function writeTypes(
	targets: readonly string[],
	{ output, watch, python }: TypesFlags,
): Promise<void> {
	if (watch && output === undefined)
		throw new CommandFailed("usage", "--watch needs --output.");
	const { findPython } = await loadPeers(
		["@snakepit/adapter-python"],
		() => import("@snakepit/adapter-python"),
	);
	const sources = toolSources(targets);
	const program = await findPython({ tools: sources, python });
	const once = async (): Promise<void> => {
		const text = await toolTypes(program, targets);
		if (output === undefined) write(text);
		else if (writeIfChanged(output, text)) write(`Wrote ${output}.`);
		else if (!watch) write(`${output} is up to date.`);
	};
	if (!watch) return await once();
	// Started before the first writing, so no change is missed.
	const changes = pythonChanges(directoriesOf(sources));
	await onceOrWhy(once);
	for await (const _ of changes) await onceOrWhy(once);
}

/** Python looks for modules in the current directory first. */
function directoriesOf(sources: readonly ToolSource[]): ReadonlySet<string> {
	return new Set(
		sources.map(({ file }) =>
			file === undefined
				? workingDirectory("A module of tools")
				: dirname(absolutePath(String(file), "The file of tools")),
		),
	);
}

/** The next change may mend the error. */
async function onceOrWhy(once: () => Promise<void>): Promise<void> {
	try {
		await once();
	} catch (error) {
		process.stderr.write(`snakepit: ${(error as Error).message}\n`);
	}
}

/**
 * The value of the option `tools` for the words of a command: `tools.py`, `package.module`, and, after a colon, the
 * names to expose, as in `math:sqrt,gcd`. Python reads them in the same way (snakepit_bridge/cli/command.py).
 */
function toolSources(targets: readonly string[]): readonly ToolSource[] {
	return targets.map((target) => {
		const colon = target.lastIndexOf(":");
		const place = colon < 0 ? target : target.slice(0, colon);
		const expose = colon < 0 ? undefined : target.slice(colon + 1).split(",");
		return place.endsWith(".py") || place.includes("/")
			? { file: place, expose }
			: { module: place, expose };
	});
}

const MOST_BYTES = 2 ** 26;
/** As `-m snakepit_bridge types` does, but a `json.py` in the working directory is not imported; `-P` is new in Python 3.11. */
const TYPES =
	'import sys; sys.path[:] = [entry for entry in sys.path if entry != ""]; sys.argv.insert(1, "types"); import runpy; runpy._run_module_as_main("snakepit_bridge")';
const execute = promisify(execFile);

/**
 * Generates the TypeScript types of tools; Python imports the tools for this.
 *
 * @throws CommandFailed with what Python says.
 */
async function toolTypes(
	python: string,
	targets: readonly string[],
): Promise<string> {
	try {
		const args = ["-c", TYPES, ...targets];
		const { stdout } = await execute(python, args, { maxBuffer: MOST_BYTES });
		return stdout;
	} catch (error) {
		const { stderr = "", message } = error as Error & { stderr?: string };
		throw new CommandFailed("failed", stderr.trim() || message);
	}
}

/** Writes a text unless the file already contains it, so that programs that watch the file see no change. Returns whether it wrote. */
function writeIfChanged(path: string, text: string): boolean {
	try {
		if (readFileSync(path, "utf8") === text) return false;
	} catch {
		// There is none yet.
	}
	writeFileSync(path, text);
	return true;
}

/** An editor changes a file in several steps. */
const QUIET_MS = 100;

const REMEDIES: Readonly<Record<string, string>> = {
	EMFILE:
		"Too many files are open or watched: raise the limit of this shell (ulimit -n) or of the system (sysctl fs.inotify.max_user_instances).",
	ENOSPC:
		"Too many files are watched: raise the limit of the system (sysctl fs.inotify.max_user_watches).",
	ENOENT: "Create it, and start again.",
};

/**
 * Watches directories as soon as it is called, and yields after each change of Python files in them. Changes while the consumer is busy
 * count as one.
 *
 * The directories are watched, not the files: many editors replace a file by a new one.
 *
 * @throws CommandFailed if a directory cannot be watched, now or later, or is removed.
 */
export function pythonChanges(
	directories: Iterable<string>,
): AsyncGenerator<void, void> {
	let next = Promise.withResolvers<CommandFailed | undefined>();
	let timer: NodeJS.Timeout | undefined;
	const watchers: FSWatcher[] = [];
	const close = (): void => {
		clearTimeout(timer);
		for (const watcher of watchers) watcher.close();
	};
	try {
		for (const directory of directories) {
			const watcher = watch(directory, (_, name) => {
				// A directory reports its own end by its own name.
				if (!existsSync(directory))
					return next.resolve(cannotWatch(directory, "it was removed"));
				if (name !== null && !name.endsWith(".py")) return;
				clearTimeout(timer);
				timer = setTimeout(() => next.resolve(undefined), QUIET_MS);
			});
			watchers.push(watcher);
			watcher.on("error", (error) =>
				next.resolve(cannotWatch(directory, error)),
			);
		}
	} catch (error) {
		close();
		const [failed = ""] = [...directories].slice(watchers.length);
		throw cannotWatch(failed, error);
	}
	return changes();

	async function* changes(): AsyncGenerator<void, void> {
		try {
			for (;;) {
				const failure = await next.promise;
				if (failure !== undefined) throw failure;
				next = Promise.withResolvers();
				yield;
			}
		} finally {
			close();
		}
	}
}

function cannotWatch(directory: string, cause: unknown): CommandFailed {
	const { code = "", message } =
		cause instanceof Error
			? (cause as NodeJS.ErrnoException)
			: { message: String(cause) };
	const remedy = REMEDIES[code] ?? "Start again when it is there.";
	return new CommandFailed(
		"failed",
		`${directory} cannot be watched: ${message}. ${remedy}`,
	);
}
