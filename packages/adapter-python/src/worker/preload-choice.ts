import {
	BRIDGE_ALONE,
	type ResolvedOptions,
	type ResolvedPreload,
} from "../options.ts";

/** With fewer workers, the parent costs more than it saves. */
const LEAST_WORKERS = 4;

/** What the preloaded parent of a pool imports, if it has one. */
export function preloadChoice(
	{ preload, env }: Pick<ResolvedOptions, "preload" | "env">,
	workers: number,
	platform: NodeJS.Platform,
): ResolvedPreload | "off" {
	if (preload !== "auto") return preload;
	// A worker's own variables may be meant for its interpreter or linker, which read them only when a program is
	// executed.
	const isFor =
		platform === "linux" &&
		workers >= LEAST_WORKERS &&
		typeof env !== "function";
	return isFor ? BRIDGE_ALONE : "off";
}
