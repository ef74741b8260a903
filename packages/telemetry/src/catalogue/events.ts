import type { SnakepitEventType } from "@snakepit/core";
import { AUDIT_EVENTS } from "./audit-events.ts";
import { CALL_EVENTS } from "./call-events.ts";
import type { EventPlaces } from "./event-place.ts";
import { HEARTBEAT_EVENTS } from "./heartbeat-events.ts";
import { JOB_EVENTS } from "./job-events.ts";
import { PROTECTION_EVENTS } from "./protection-events.ts";
import { REGISTRY_EVENTS } from "./registry-events.ts";
import { RUN_CONTROL_EVENTS } from "./run-control-events.ts";
import { RUN_EVENTS } from "./run-events.ts";
import { WORKER_EVENTS } from "./worker-events.ts";

/** Where every event of core is exported. If one is missing here, this file does not compile. */
export const EVENTS: EventPlaces = {
	...RUN_EVENTS,
	...RUN_CONTROL_EVENTS,
	...REGISTRY_EVENTS,
	...AUDIT_EVENTS,
	...WORKER_EVENTS,
	...HEARTBEAT_EVENTS,
	...CALL_EVENTS,
	...JOB_EVENTS,
	...PROTECTION_EVENTS,
};

/** The name of an event's log record. */
export function eventName(type: SnakepitEventType): string {
	return `snakepit.${type}`;
}
