import type { EventOf, SnakepitEventType } from "@snakepit/core";
import type { AttributeName } from "./attributes.ts";
import type { Group } from "./groups.ts";
import type { MetricName } from "./metric-definition.ts";
import type { SpanKindName } from "./spans.ts";

export type Severity = "debug" | "info" | "warn" | "error" | "fatal";

/** What an attribute may hold. */
export type Value = string | number | boolean | readonly string[];

/** An event as a log record with a name, and as a line that people read. */
export interface Told<Type extends SnakepitEventType> {
	readonly severity: Severity | ((event: EventOf<Type>) => Severity);
	/** One sentence. */
	readonly line: (event: EventOf<Type>) => string;
	readonly attributes: {
		readonly [Name in AttributeName]?: (
			event: EventOf<Type>,
		) => Value | undefined;
	};
}

/** Where an event of core goes. */
export interface EventPlace<Type extends SnakepitEventType> {
	readonly group: Group;
	/** As `snakepit.` and its type. Absent: as spans or metrics only. */
	readonly told?: Told<Type>;
	/** The same as a log record only when this option is on. */
	readonly onlyWith?: "workerLogs";
	readonly spans?: readonly SpanKindName[];
	readonly metrics?: readonly MetricName[];
	/** Why it goes nowhere, or not further. */
	readonly note?: string;
}

export type EventPlaces = {
	readonly [Type in SnakepitEventType]: EventPlace<Type>;
};

/** In every event about one worker. */
export const WORKER = {
	"snakepit.pool.name": ({ pool }: { readonly pool: string }): string => pool,
	"snakepit.worker.id": ({ workerId }: { readonly workerId: string }): string =>
		workerId,
	"snakepit.worker.incarnation": ({
		incarnation,
	}: {
		readonly incarnation: string;
	}): string => incarnation,
} as const;

/** In every event about a run. */
export const RUN = {
	"snakepit.run.id": ({ runId }: { readonly runId: string }): string => runId,
} as const;

/** In every event about a pool. */
export const POOL = {
	"snakepit.pool.name": ({ pool }: { readonly pool: string }): string => pool,
} as const;

/** Milliseconds as OpenTelemetry has durations. */
export function seconds(ms: number): number {
	return ms / 1_000;
}
