import type {
	SnakepitEvent,
	SnakepitEventType,
	SnakepitListener,
} from "@snakepit/core";
import type { WorkerLogRecord } from "@snakepit/core/adapter";
import {
	type Check,
	checkOptions,
	oneOf,
	optional,
} from "@snakepit/core/options";
import { EVENTS, type Severity, severityOf } from "./catalogue/events.ts";

/** The methods a logger needs; `console`, pino, winston and others have them. */
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

/** Events that core writes to standard error unless a listener shows them, as this one does. */
const SHOWN: readonly SnakepitEventType[] = [
	"worker.logged",
	"worker.exited",
	"worker.start_failed",
	"preload.ended",
	"companion.ended",
	"companion.unavailable",
];

/** What `logEvents` writes. */
export interface LogEventsOptions {
	/** The lowest severity to write; `"info"` writes every line. @default "info" */
	readonly from?: "info" | "warn" | "error" | undefined;
}

export const LOG_EVENTS_DEFAULTS = { from: "info" } as const;

export const LOG_EVENTS_CHECKS: Readonly<
	Record<keyof LogEventsOptions, Check>
> = { from: optional(oneOf("info", "warn", "error")) };

/**
 * Writes the important events as readable lines, for programs without a backend:
 * `createPool({ adapter, onEvent: logEvents(console) })`. Includes the workers' log
 * records from WARNING on, with their call and traceback; core does not write them to
 * standard error then. Leaves out what workers print: core echoes it (`output.echo`).
 *
 * @throws OptionsError `INVALID_OPTION` if the logger lacks one of the three methods; `UNKNOWN_OPTION`.
 */
export function logEvents(
	logger: EventLogger,
	options: LogEventsOptions = {},
): SnakepitListener {
	checkOptions(
		"logEvents",
		{ logger, ...options },
		{ logger: isLogger, ...LOG_EVENTS_CHECKS },
	);
	const least = ORDER.indexOf(options.from ?? LOG_EVENTS_DEFAULTS.from);
	const write = (event: SnakepitEvent): void => {
		const severity = severityOf(event);
		if (severity === undefined) return;
		const { line, onlyWith } = EVENTS[event.type];
		const record = event.type === "worker.logged" ? event.record : undefined;
		if (onlyWith !== undefined && !isWritten(record, severity)) return;
		if (ORDER.indexOf(severity) < least) return;
		const text = `[snakepit] ${line?.(event)}${record === undefined ? "" : detailsOf(record)}`;
		if (severity === "info") logger.info(text);
		else if (severity === "warn") logger.warn(text);
		else logger.error(text);
	};
	return Object.assign(write, { shows: SHOWN });
}

/** Whether plain Python would show the record and the worker has no handler for it. */
function isWritten(
	record: WorkerLogRecord | undefined,
	severity: Severity,
): boolean {
	if (record === undefined || record.handledBy !== undefined) return false;
	return ORDER.indexOf(severity) >= ORDER.indexOf("warn");
}

function detailsOf({ callId, traceback }: WorkerLogRecord): string {
	const call = callId === undefined ? "" : ` (call ${callId})`;
	return traceback === undefined ? call : `${call}\n${traceback.trimEnd()}`;
}
