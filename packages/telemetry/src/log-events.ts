import { Console } from "node:console";
import { setTimeout } from "node:timers";
import type {
	EventOf,
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
import {
	duration,
	EVENTS,
	type Severity,
	severityOf,
} from "./catalogue/events.ts";
import { plainArgs } from "./limits.ts";

/** An event, as it is written to a log. */
export interface LogEntry {
	readonly level: "info" | "warn" | "error";
	/** What happened, in a sentence for people. */
	readonly message: string;
	/** What happened, for programs. One field with all others below it, because loggers have fields of their own, as `pid`. */
	readonly fields: {
		/** The type of the event as `event`, and its fields. An error is its name, code, message and `ran`. */
		readonly snakepit: Readonly<Record<string, unknown>>;
	};
}

/** A logger with these three methods, as `console`, pino, winston and others have them. */
export interface LeveledLogger {
	readonly info: (...parts: never[]) => unknown;
	readonly warn: (...parts: never[]) => unknown;
	readonly error: (...parts: never[]) => unknown;
}

/**
 * Where `logEvents` writes. pino and bunyan get `(fields, message)`; a `Console` gets one text with the last lines of a
 * worker below it; every other logger gets `(message, fields)`, as winston; a function gets the entry.
 */
export type EventLogger = LeveledLogger | ((entry: LogEntry) => void);

/** Whether it has the three methods; some loggers that have are functions themselves. */
function isLeveled(value: unknown): value is LeveledLogger {
	return (["info", "warn", "error"] as const).every(
		(level) =>
			typeof (value as Partial<LeveledLogger> | null | undefined)?.[level] ===
			"function",
	);
}

const isLogger: Check = (value) =>
	typeof value === "function" || isLeveled(value)
		? undefined
		: "must have the methods info, warn and error, as console has, or be a function of an entry";

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
	/** The lowest severity to write; `"info"` writes every entry. @default "info" */
	readonly from?: "info" | "warn" | "error" | undefined;
}

export const LOG_EVENTS_DEFAULTS = { from: "info" } as const;

export const LOG_EVENTS_CHECKS: Readonly<
	Record<keyof LogEventsOptions, Check>
> = { from: optional(oneOf("info", "warn", "error")) };

/**
 * Writes the important events to a logger, for programs without a backend: `createPool({ adapter, onEvent:
 * logEvents(console) })`. Each is a level, a sentence and fields. Includes failed calls, the last lines of workers that
 * died, and the workers' log records from WARNING on, with their call and traceback; core does not write these to
 * standard error then. Leaves out what workers print: core echoes it (`output.echo`).
 *
 * Of calls of a pool that fail alike, by command and code, the first five of a second are written, and then how many
 * more there were.
 *
 * @throws OptionsError `INVALID_OPTION` if the logger is neither a function nor has the three methods; `UNKNOWN_OPTION`.
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
	const write = writerOf(logger);
	const calls = new FailedCalls((event, text) => {
		if (ORDER.indexOf("warn") >= least) write(entryOf(event, "warn", text));
	});
	const listener = (event: SnakepitEvent): void => {
		if (event.type === "call.settled") calls.hear(event);
		const severity = severityOf(event);
		if (severity === undefined) return;
		const { line, onlyWith } = EVENTS[event.type];
		const record = event.type === "worker.logged" ? event.record : undefined;
		if (onlyWith !== undefined && !isWritten(record, severity)) return;
		if (ORDER.indexOf(severity) < least) return;
		write(entryOf(event, severity, line?.(event) ?? event.type));
	};
	return Object.assign(listener, { shows: SHOWN });
}

/** Whether plain Python would show the record and the worker has no handler for it. */
function isWritten(
	record: WorkerLogRecord | undefined,
	severity: Severity,
): boolean {
	if (record === undefined || record.handledBy !== undefined) return false;
	return ORDER.indexOf(severity) >= ORDER.indexOf("warn");
}

function entryOf(
	{ type, ...fields }: SnakepitEvent & { readonly alike?: number },
	severity: Severity,
	message: string,
): LogEntry {
	const level = severity === "info" || severity === "warn" ? severity : "error";
	const known = Object.entries(fields).filter(
		([, value]) => value !== undefined,
	);
	const shown = known.map(([name, value]) => [
		name,
		value instanceof Error
			? fieldsOfError(value)
			: name === "args"
				? plainArgs(value)
				: value,
	]);
	const snakepit = { event: type, ...Object.fromEntries(shown) };
	return { level, message, fields: { snakepit } };
}

/** What JSON leaves out of an error. */
function fieldsOfError(error: Error): Readonly<Record<string, unknown>> {
	const { name, message } = error;
	const { code, ran } = error as Error & Readonly<Record<string, unknown>>;
	return { name, code, message, ran };
}

/** Any of the methods of a logger. */
type Method = (...parts: unknown[]) => unknown;

function writerOf(logger: EventLogger): (entry: LogEntry) => void {
	if (!isLeveled(logger)) return logger;
	const at = (level: LogEntry["level"], ...parts: unknown[]): void => {
		(logger[level] as Method).call(logger, ...parts);
	};
	if (logger instanceof Console || logger === console)
		return (entry) => at(entry.level, consoleText(entry));
	// pino has bindings, and bunyan serializers that can be added; both take the fields first.
	const { bindings, addSerializers } = logger as LeveledLogger & {
		readonly bindings?: unknown;
		readonly addSerializers?: unknown;
	};
	return typeof bindings === "function" || typeof addSerializers === "function"
		? ({ level, message, fields }) => at(level, fields, message)
		: ({ level, message, fields }) => at(level, message, fields);
}

/** An entry for people, with what they need of its fields. */
function consoleText({ level, message, fields }: LogEntry): string {
	const { event, tail, args, traceId, record } = fields.snakepit as {
		readonly event: SnakepitEventType;
		readonly tail?: readonly string[];
		readonly args?: unknown;
		readonly traceId?: string;
		readonly record?: WorkerLogRecord;
	};
	const text = `[snakepit] ${message}${record === undefined ? "" : detailsOf(record)}`;
	const details = [
		...(level === "info" ? [] : (tail ?? [])),
		...(event === "call.settled" && args !== undefined
			? [`arguments: ${JSON.stringify(args)}`]
			: []),
		...(traceId === undefined ? [] : [`trace: ${traceId}`]),
	];
	return [text, ...details.map((line) => `    ${line}`)].join("\n");
}

function detailsOf({ callId, traceback }: WorkerLogRecord): string {
	const call = callId === undefined ? "" : ` (call ${callId})`;
	return traceback === undefined ? call : `${call}\n${traceback.trimEnd()}`;
}

type SettledCall = EventOf<"call.settled">;

/** So many calls that fail alike are written in a second; the others are counted. */
const ALIKE = 5;
const SECOND_MS = 1_000;
/** The most kinds of failure a second that are counted by command; beyond that, a kind is a pool and a code. */
const KINDS = 100;

/** Writes calls that fail, few a second of each kind. */
class FailedCalls {
	readonly #write: (event: SnakepitEvent, text: string) => void;
	/** Of the current second, by pool, command and code. */
	readonly #kinds = new Map<string, { last: SettledCall; count: number }>();

	constructor(write: (event: SnakepitEvent, text: string) => void) {
		this.#write = write;
	}

	hear(call: SettledCall): void {
		const { outcome, pool, command, code = "" } = call;
		// One that its caller gave up has not failed.
		if (outcome === "succeeded" || outcome === "aborted") return;
		if (this.#kinds.size === 0)
			setTimeout(() => this.#secondIsOver(), SECOND_MS).unref();
		const own = `${pool}\n${command}\n${code}`;
		const key =
			this.#kinds.has(own) || this.#kinds.size < KINDS
				? own
				: `${pool}\n\n${code}`;
		const kind = this.#kinds.get(key) ?? { last: call, count: 0 };
		this.#kinds.set(key, kind);
		kind.last = call;
		kind.count++;
		if (kind.count <= ALIKE) this.#write(call, failure(call));
	}

	#secondIsOver(): void {
		const kinds = [...this.#kinds.values()];
		this.#kinds.clear();
		for (const { last, count } of kinds) {
			const alike = count - ALIKE;
			if (alike <= 0) continue;
			const { pool, command, code } = last;
			this.#write(
				{ ...last, alike } as SnakepitEvent,
				`${alike} more ${alike === 1 ? "call" : "calls"} like the last one (${command} of pool ${pool}: ${code}) failed within a second`,
			);
		}
	}
}

function failure(call: SettledCall): string {
	const { callId, command, pool, outcome, totalMs } = call;
	const worker = call.attemptDetails.at(-1)?.workerId;
	const how = outcome === "timed_out" ? "timed out" : "failed";
	const where = worker === undefined ? `pool ${pool}` : worker;
	return `call ${callId} (${command}) ${how} after ${duration(totalMs)} on ${where}: ${call.code}: ${call.message}`;
}
