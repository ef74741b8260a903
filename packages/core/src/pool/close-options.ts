import type { CloseManner } from "../close-manner.ts";
import {
	type Check,
	checkOptions,
	milliseconds,
	oneOf,
	optional,
} from "../option-check.ts";

/** How a pool is closed, or all pools of a run. */
export interface CloseOptions {
	/** How long running and waiting calls may still take; `stop.drainMs` by default. A later close can shorten that. */
	readonly drainMs?: number | undefined;
	/** `"gentle"` lets calls end and asks workers to leave, `"forced"` kills at once. @default "gentle" */
	readonly manner?: CloseManner | undefined;
}

export const CLOSE_DEFAULTS = { manner: "gentle" } as const;

export const CLOSE_CHECKS: Readonly<Record<keyof CloseOptions, Check>> = {
	drainMs: optional(milliseconds(0)),
	manner: optional(oneOf("gentle", "forced")),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkCloseOptions(at: string, options: CloseOptions): void {
	checkOptions(at, options, CLOSE_CHECKS);
}
