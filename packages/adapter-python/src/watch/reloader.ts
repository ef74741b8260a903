import type { ReloadablePool } from "@snakepit/core/adapter";
import { SourceWatch } from "./source-watch.ts";

/** An editor, a formatter or a checkout changes several files, or one file several times, within a shorter time. */
const SETTLE_MS = 50;
/** The names of files in Python's tracebacks and syntax errors. */
const NAMED = /^\s*File "([^"\n]+\.py)", line \d+/gm;
/** Files of Python itself and of packages do not change while tools are written. */
const INSTALLED = /\/(site-packages|dist-packages|lib\/python3[^/]*)\//;

/** Reloads one pool when its source files have changed and nothing has changed for a moment. */
export class Reloader {
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
