import {
	type Context,
	ROOT_CONTEXT,
	TraceFlags,
	trace,
} from "@opentelemetry/api";
import type { SnakepitEvent } from "@snakepit/core";
import type { WorkerLogRecord } from "@snakepit/core/adapter";
import { SCOPE } from "./catalogue/attributes.ts";
import {
	attributesOf,
	EVENTS,
	eventName,
	type Severity,
	severityOf,
} from "./catalogue/events.ts";
import type { Limits } from "./limits.ts";
import { registeredLogs } from "./registration.ts";

/**
 * The part of OpenTelemetry's logs API that is used here: `@opentelemetry/api` has it
 * only from 1.10 on.
 */
export interface LoggerProviderLike {
	getLogger(name: string, version?: string): LoggerLike;
}

export interface LoggerLike {
	emit(record: LogRecordLike): void;
}

export interface LogRecordLike {
	readonly eventName?: string;
	readonly timestamp?: number;
	readonly severityNumber?: number;
	readonly severityText?: string;
	readonly body?: string;
	// biome-ignore lint/suspicious/noExplicitAny: the two lines of the API name the type of a value differently
	readonly attributes?: any;
	readonly context?: Context;
}

/** OpenTelemetry's numbers. */
const SEVERITY: Readonly<Record<Severity, number>> = {
	debug: 5,
	info: 9,
	warn: 13,
	error: 17,
	fatal: 21,
};

/** Exports events as log records with a name. */
export class EventLog {
	#logger: LoggerLike | undefined;
	readonly #limits: Limits;
	readonly #workerLogs: boolean;

	constructor(
		provider: LoggerProviderLike | undefined,
		limits: Limits,
		workerLogs: boolean,
	) {
		this.#logger = provider?.getLogger(SCOPE);
		this.#limits = limits;
		this.#workerLogs = workerLogs;
	}

	hear(event: SnakepitEvent, context: Context): void {
		const severity = severityOf(event);
		if (severity === undefined) return;
		const { line, onlyWith } = EVENTS[event.type];
		// A provider may be registered after the pool was created.
		this.#logger ??= registeredLogs()?.getLogger(SCOPE);
		if (this.#logger === undefined) return;
		if (onlyWith !== undefined && !this.#workerLogs) return;
		const attributes = Object.fromEntries(
			Object.entries(attributesOf(event)).map(([name, value]) => [
				name,
				this.#limits.value(value),
			]),
		);
		this.#logger.emit({
			eventName: eventName(event.type),
			timestamp: event.wallMs,
			severityNumber: SEVERITY[severity],
			severityText: severity.toUpperCase(),
			body: this.#limits.text(line?.(event) ?? ""),
			attributes,
			context:
				event.type === "worker.logged" ? contextOf(event.record) : context,
		});
	}
}

/** The span in which the worker wrote it. */
function contextOf({ traceId, spanId }: WorkerLogRecord): Context {
	if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
	return trace.setSpanContext(ROOT_CONTEXT, {
		traceId,
		spanId,
		traceFlags: TraceFlags.SAMPLED,
		isRemote: true,
	});
}
