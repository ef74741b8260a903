import type { ReloadablePool } from "@snakepit/core/adapter";
import type { ResolvedOptions } from "../options.ts";
import { Reloader } from "./reloader.ts";

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
