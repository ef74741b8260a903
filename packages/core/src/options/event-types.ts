import { OptionsError } from "../contract/errors.ts";
import type { SnakepitEventType } from "../contract/events.ts";
import { EVENT_TYPES } from "../gen/event-types.ts";
import { nearest, show } from "./check.ts";

/** What workers say. */
export const LOG_TYPES: readonly SnakepitEventType[] = [
	"worker.output",
	"worker.logged",
];

/** What is too frequent for people: each ping, and each step of a call but its end. */
const FREQUENT: readonly SnakepitEventType[] = [
	"heartbeat.sent",
	"heartbeat.answered",
	"call.accepted",
	"call.dispatched",
	"call.released",
];

const MEASURED: readonly SnakepitEventType[] = [
	"call.accepted",
	"call.dispatched",
	"call.released",
	"call.settled",
];

/** All but the events that `CallMeasures` of an instrument stand for. */
export const UNMEASURED_TYPES: readonly SnakepitEventType[] = (
	Object.keys(EVENT_TYPES) as SnakepitEventType[]
).filter((type) => !MEASURED.includes(type));

/** What people see of a pool who look at it, the end of each call included: that is the most frequent, and first. */
export const POOL_TYPES: readonly SnakepitEventType[] = [
	"call.settled",
	...watched(isOfPool),
];

/** Likewise of a run. */
export const RUN_TYPES: readonly SnakepitEventType[] = watched(
	(type) => !isOfPool(type),
);

function watched(
	wanted: (type: string) => boolean,
): readonly SnakepitEventType[] {
	const types = Object.keys(EVENT_TYPES) as SnakepitEventType[];
	return types.filter(
		(type) =>
			wanted(type) &&
			type !== "call.settled" &&
			!FREQUENT.includes(type) &&
			!LOG_TYPES.includes(type),
	);
}

/** Whether a pool reports it, or the run that the pool is in. */
function isOfPool(type: string): boolean {
	return !/^(run|cleanup|orphan|registry|audit|protection|host|control)\./.test(
		type,
	);
}

/**
 * Checks the name of an event.
 *
 * @throws OptionsError `UNKNOWN_EVENT` with the nearest known name.
 */
export function checkEventType(at: string, type: unknown): void {
	if (typeof type === "string" && Object.hasOwn(EVENT_TYPES, type)) return;
	const known = Object.keys(EVENT_TYPES);
	const near = nearest(String(type), known);
	const [group] = String(type).split(".");
	const alike = known.filter((name) => name.startsWith(`${group}.`));
	const others =
		alike.length > 0
			? `Those that begin alike are ${alike.join(", ")}.`
			: "The type SnakepitEventType lists all.";
	throw new OptionsError({
		code: "UNKNOWN_EVENT",
		message: `${at}: there is no event ${show(type)}. ${near === undefined ? others : `Did you mean "${near}"?`}`,
	});
}
