import type { Progress } from "@modelcontextprotocol/sdk/types.js";
import type { CallProgress } from "@snakepit/core/adapter";

const MOST_CHARACTERS = 1_000;

/** Converts a server's report of progress for the caller. Without a total, it has no fraction. */
export function progressOf({
	progress,
	total,
	message,
}: Progress): CallProgress {
	const fraction = total === undefined ? Number.NaN : progress / total;
	return {
		fraction: Number.isNaN(fraction)
			? undefined
			: Math.min(Math.max(fraction, 0), 1),
		message: message?.slice(0, MOST_CHARACTERS) ?? "",
	};
}
