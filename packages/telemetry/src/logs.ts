import {
	type Context,
	ROOT_CONTEXT,
	type SpanContext,
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
	thrownOf,
} from "./catalogue/events.ts";
import {
	EXCEPTION_RECORDS,
	type ExceptionAttributes,
	type ExceptionRecordName,
	type ExceptionSignals,
	type Exceptions,
} from "./exceptions.ts";
import type { Limits } from "./limits.ts";
import { registeredLogs } from "./registration.ts";

/**
 * The part of OpenTelemetry's logs API that is used here: `@opentelemetry/api` has it
 * only from 1.10 on.
 */
export interface LoggerProviderLike {
	getLogger(
		name: string,
		version?: string,
		options?: { readonly schemaUrl?: string },
	): LoggerLike;
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

/** Exports events as log records with a name, and exceptions if the user chose it. */
export class EventLog implements Exceptions {
	readonly signals: ExceptionSignals;
	#logger: LoggerLike | undefined;
	readonly #limits: Limits;
	readonly #workerLogs: boolean;
	/** The errors of starts that are recorded. */
	readonly #failedStarts = new WeakSet<Error>();

	constructor(
		provider: LoggerProviderLike | undefined,
		limits: Limits,
		workerLogs: boolean,
		signals: ExceptionSignals,
	) {
		this.#logger = loggerOf(provider);
		this.#limits = limits;
		this.#workerLogs = workerLogs;
		this.signals = signals;
	}

	log(
		span: SpanContext,
		name: ExceptionRecordName,
		attributes: ExceptionAttributes,
	): void {
		const { severity } = EXCEPTION_RECORDS[name];
		this.#ready()?.emit({
			eventName: name,
			timestamp: Date.now(),
			severityNumber: SEVERITY[severity],
			severityText: severity.toUpperCase(),
			body: `${attributes["exception.type"]}: ${attributes["exception.message"]}`,
			attributes,
			context: trace.setSpanContext(ROOT_CONTEXT, span),
		});
	}

	hear(event: SnakepitEvent, context: Context): void {
		const severity = severityOf(event);
		if (severity === undefined) return;
		const { line, onlyWith } = EVENTS[event.type];
		const logger = this.#ready();
		if (logger === undefined) return;
		if (onlyWith !== undefined && !this.#workerLogs) return;
		const attributes = {
			...Object.fromEntries(
				Object.entries(attributesOf(event)).map(([name, value]) => [
					name,
					name === "exception.stacktrace"
						? this.#limits.traceback(String(value))
						: this.#limits.value(value),
				]),
			),
			...(this.signals.logs && this.#exceptionOf(event)),
		};
		logger.emit({
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

	/** A provider may be registered after the pool was created. */
	#ready(): LoggerLike | undefined {
		this.#logger ??= loggerOf(registeredLogs());
		return this.#logger;
	}

	/** Of a start that failed: otherwise it is on the span of the start. A pool fails with the error of its worker. */
	#exceptionOf(event: SnakepitEvent): ExceptionAttributes | undefined {
		if (
			event.type !== "worker.start_failed" &&
			event.type !== "pool.start_failed"
		)
			return undefined;
		if (this.#failedStarts.has(event.error)) return undefined;
		this.#failedStarts.add(event.error);
		return this.#limits.exception(thrownOf(event.error));
	}
}

function loggerOf(
	provider: LoggerProviderLike | undefined,
): LoggerLike | undefined {
	const { name, version, schemaUrl } = SCOPE;
	return provider?.getLogger(name, version, { schemaUrl });
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
