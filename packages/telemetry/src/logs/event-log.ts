import {
	type Context,
	ROOT_CONTEXT,
	TraceFlags,
	trace,
} from "@opentelemetry/api";
import type { SnakepitEvent } from "@snakepit/core";
import type { WorkerLogRecord } from "@snakepit/core/adapter";
import type { Severity } from "../catalogue/event-place.ts";
import { eventName } from "../catalogue/events.ts";
import { logRecordOf } from "../catalogue/log-record.ts";
import type { Limits } from "../limits.ts";
import { SCOPE } from "../scope.ts";
import {
	type LoggerLike,
	type LoggerProviderLike,
	registeredLogs,
} from "./logger-provider.ts";

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
		const logged = logRecordOf(event);
		if (logged === undefined) return;
		// A provider may be registered after the pool was created.
		this.#logger ??= registeredLogs()?.getLogger(SCOPE);
		if (this.#logger === undefined) return;
		if (logged.onlyWith !== undefined && !this.#workerLogs) return;
		const { severity } = logged;
		const attributes = Object.fromEntries(
			logged
				.attributes()
				.map(([name, value]) => [name, this.#limits.value(value)]),
		);
		this.#logger.emit({
			eventName: eventName(event.type),
			timestamp: event.wallMs,
			severityNumber: SEVERITY[severity],
			severityText: severity.toUpperCase(),
			body: this.#limits.text(logged.line()),
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
