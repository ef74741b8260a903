import type { EventOf, SnakepitEvent, SnakepitEventType } from "@snakepit/core";
import type { Group } from "../switches.ts";
import type { AttributeName } from "./attributes.ts";
import type { MetricName } from "./metrics.ts";
import type { SpanKindName } from "./spans.ts";

export type Severity = "debug" | "info" | "warn" | "error" | "fatal";

/** What an attribute may hold. */
export type Value = string | number | boolean | readonly string[];

/** The source of an attribute: a field of the event (a field in milliseconds, `...Ms`, becomes seconds), or a function. */
type Source<Event> =
	| Extract<keyof Event, string>
	| ((event: Event) => Value | undefined);

/** Attributes, each with its source. */
type Attributes<Event> = Readonly<
	Partial<Record<AttributeName, Source<Event>>>
>;

/** Where an event of core is exported. */
export interface EventPlace<Type extends SnakepitEventType> {
	readonly group: Group;
	/** An event with a severity and a line is a log record, named `snakepit.` and its type. */
	readonly severity?: Severity | ((event: EventOf<Type>) => Severity);
	/** The event in one sentence. */
	readonly line?: (event: EventOf<Type>) => string;
	/** Of the log record. */
	readonly attributes?: Attributes<EventOf<Type>>;
	/** Exported as a log record only if this option is on. */
	readonly onlyWith?: "workerLogs";
	readonly spans?: readonly SpanKindName[];
	/** Counters that go up by one, each with the attributes of its series. */
	readonly counts?: Readonly<
		Partial<Record<MetricName, Attributes<EventOf<Type>>>>
	>;
	/** Other metrics that are computed from it. */
	readonly metrics?: readonly MetricName[];
	/** Why it is not exported, or not as a log record. */
	readonly note?: string;
}

/** The events whose names begin with a prefix. */
export type EventPlaces<Prefix extends string = string> = {
	readonly [Type in SnakepitEventType as Type extends `${Prefix}.${string}`
		? Type
		: never]: EventPlace<Type>;
};

export const POOL = { "snakepit.pool.name": "pool" } as const;

export const RUN = { "snakepit.run.id": "runId" } as const;

export const WORKER = {
	"snakepit.pool.name": "pool",
	"snakepit.worker.id": "workerId",
	"snakepit.worker.incarnation": "incarnation",
} as const;

/** OpenTelemetry gives durations in seconds. */
export function seconds(ms: number): number {
	return ms / 1_000;
}

/** Reads an attribute of an event. */
function readSource(
	source: Source<SnakepitEvent>,
	event: SnakepitEvent,
): Value | undefined {
	if (typeof source === "function") return source(event);
	const value = event[source] as Value | undefined;
	return typeof value === "number" && source.endsWith("Ms")
		? seconds(value)
		: value;
}

/** Reads all attributes that have a value. */
export function readAttributes(
	attributes: Attributes<SnakepitEvent>,
	event: SnakepitEvent,
): readonly (readonly [AttributeName, Value])[] {
	return Object.entries(attributes).flatMap(([name, source]) => {
		const value = readSource(source, event);
		return value === undefined ? [] : [[name as AttributeName, value] as const];
	});
}

/** A duration as a person reads it, with three digits: `4.26 ms`, `1.14 s`, `3600 s`. */
export function duration(ms: number): string {
	return ms < 1_000 ? `${threeDigits(ms)} ms` : `${threeDigits(ms / 1_000)} s`;
}

function threeDigits(value: number): number {
	return value < 100 ? Number(value.toPrecision(3)) : Math.round(value);
}

/** `1 call`, `2 calls`. */
export function counted(count: number, one: string, many = `${one}s`): string {
	return `${count} ${count === 1 ? one : many}`;
}
