import { watch } from "node:fs";

/** An editor changes a file in several steps. */
const QUIET_MS = 100;

/**
 * Yields after each change of Python files in some directories, until one is removed. Changes while the consumer is
 * busy count as one.
 *
 * The directories are watched, not the files: many editors replace a file by a new one.
 */
export async function* pythonChanges(
	directories: Iterable<string>,
): AsyncGenerator<void, void> {
	let next = Promise.withResolvers<boolean>();
	let timer: NodeJS.Timeout | undefined;
	const watchers = Array.from(directories, (directory) =>
		watch(directory, (_, name) => {
			if (name !== null && !name.endsWith(".py")) return;
			clearTimeout(timer);
			timer = setTimeout(() => next.resolve(true), QUIET_MS);
		}),
	);
	for (const watcher of watchers) {
		watcher.on("error", () => next.resolve(false));
		watcher.on("close", () => next.resolve(false));
	}
	try {
		while (await next.promise) {
			next = Promise.withResolvers<boolean>();
			yield;
		}
	} finally {
		clearTimeout(timer);
		for (const watcher of watchers) watcher.close();
	}
}
