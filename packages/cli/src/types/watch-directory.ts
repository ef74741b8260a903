import { existsSync, type FSWatcher, watch } from "node:fs";
import { CommandFailed } from "../command/command-failed.ts";

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
 * Watches directories at once, and yields after each change of Python files in them. Changes while the consumer is busy
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
