import type { SnakepitEvent, SnakepitEventType } from "@snakepit/core";
import type { AttributeName } from "./attributes.ts";
import {
	type EventPlace,
	readAttributes,
	type Severity,
	type Value,
} from "./event-place.ts";
import { EVENTS } from "./events.ts";

/** An event as a log record. */
export interface LogRecord {
	readonly severity: Severity;
	readonly onlyWith: "workerLogs" | undefined;
	line(): string;
	attributes(): readonly (readonly [AttributeName, Value])[];
}

/** Returns `undefined` for an event that is exported as spans or metrics only. */
export function logRecordOf(event: SnakepitEvent): LogRecord | undefined {
	// The table has the entry for the event's own type.
	const { severity, line, attributes, onlyWith } = EVENTS[
		event.type
	] as unknown as EventPlace<SnakepitEventType>;
	if (severity === undefined || line === undefined) return undefined;
	return {
		severity: typeof severity === "function" ? severity(event) : severity,
		onlyWith,
		line: () => line(event),
		attributes: () =>
			attributes === undefined
				? []
				: readAttributes(attributes as never, event),
	};
}
