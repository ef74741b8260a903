import {
	type Check,
	checkOptions,
	oneOf,
	optional,
	type SnakepitEvent,
} from "@snakepit/core";
import type { Severity } from "./catalogue/event-place.ts";
import { tellingOf } from "./catalogue/telling.ts";

/** What a logger must offer: `console`, pino, winston and others do. */
export interface EventLogger {
	info(line: string): void;
	warn(line: string): void;
	error(line: string): void;
}

const isLogger: Check = (value) =>
	(["info", "warn", "error"] as const).every(
		(level) =>
			typeof (value as Partial<EventLogger> | null | undefined)?.[level] ===
			"function",
	)
		? undefined
		: "must have the methods info, warn and error, as console has";

const ORDER: readonly Severity[] = ["debug", "info", "warn", "error", "fatal"];

/** What `logEvents` writes. */
export interface LogEventsOptions {
	/** What is less important is left out; `"info"` is all that is told. */
	readonly from?: "info" | "warn" | "error" | undefined;
}

export const LOG_EVENTS_DEFAULTS = { from: "info" } as const;

export const LOG_EVENTS_CHECKS: Readonly<
	Record<keyof LogEventsOptions, Check>
> = { from: optional(oneOf("info", "warn", "error")) };

/**
 * Writes the important events as readable lines, for programs without a backend:
 * `createPool({ adapter, onEvent: logEvents(console) })`. What workers print is
 * left out: core echoes it (`output.echo`).
 *
 * @throws OptionsError `INVALID_OPTION` when the logger lacks one of the three methods; `UNKNOWN_OPTION`.
 */
export function logEvents(
	logger: EventLogger,
	options: LogEventsOptions = {},
): (event: SnakepitEvent) => void {
	checkOptions(
		"logEvents",
		{ logger, ...options },
		{ logger: isLogger, ...LOG_EVENTS_CHECKS },
	);
	const least = ORDER.indexOf(options.from ?? LOG_EVENTS_DEFAULTS.from);
	return (event) => {
		const telling = tellingOf(event);
		if (telling === undefined || telling.onlyWith !== undefined) return;
		const { severity } = telling;
		if (ORDER.indexOf(severity) < least) return;
		const line = `[snakepit] ${telling.line()}`;
		if (severity === "info") logger.info(line);
		else if (severity === "warn") logger.warn(line);
		else logger.error(line);
	};
}
