import type { SnakepitEvent, SnakepitEventType } from "@snakepit/core";
import type { AttributeName } from "./attributes.ts";
import type { EventPlace, Severity, Value } from "./event-place.ts";
import { EVENTS } from "./events.ts";

/** How one event is told. */
export interface Telling {
	readonly severity: Severity;
	readonly onlyWith: "workerLogs" | undefined;
	line(): string;
	attributes(): readonly (readonly [AttributeName, Value])[];
}

/** `undefined` when it is not told, but counted or measured. */
export function tellingOf(event: SnakepitEvent): Telling | undefined {
	// The table has the place of the event's own type.
	const place = EVENTS[event.type] as unknown as EventPlace<SnakepitEventType>;
	const { told, onlyWith } = place;
	if (told === undefined) return undefined;
	const { severity } = told;
	return {
		severity: typeof severity === "function" ? severity(event) : severity,
		onlyWith,
		line: () => told.line(event),
		attributes: () =>
			Object.entries(told.attributes).flatMap(([name, read]) => {
				const value = read(event);
				return value === undefined
					? []
					: [[name as AttributeName, value] as const];
			}),
	};
}
