import type { SnakepitEvent, SnakepitEventType } from "../contract/events.ts";

/** Something that lasts: what starts it, what may end it, and what distinguishes two of them. */
export interface EventPair {
	readonly what: string;
	readonly start: SnakepitEventType;
	readonly ends: readonly SnakepitEventType[];
	/** Names the thing; `undefined` when the event is not about such a thing. */
	readonly key: (event: SnakepitEvent) => string | undefined;
}

const field =
	(...names: readonly string[]) =>
	(event: SnakepitEvent): string | undefined => {
		const values = names.map(
			(name) => (event as unknown as Record<string, unknown>)[name],
		);
		return values.every((value) => value !== undefined)
			? values.join(" ")
			: undefined;
	};

/** Whatever lasts has one start and exactly one end. */
export const EVENT_PAIRS: readonly EventPair[] = [
	{
		what: "run",
		start: "run.started",
		ends: ["run.ended"],
		key: field("runId"),
	},
	{
		what: "cleanup",
		start: "cleanup.started",
		ends: ["cleanup.finished"],
		key: field("runId"),
	},
	{
		what: "pool",
		start: "pool.started",
		ends: ["pool.closed"],
		key: field("pool"),
	},
	{
		what: "pause of pool",
		start: "pool.paused",
		ends: ["pool.resumed"],
		key: field("pool"),
	},
	{
		what: "preloaded parent",
		start: "preload.started",
		ends: ["preload.ended"],
		key: field("pool", "pid"),
	},
	{
		what: "companion",
		start: "companion.started",
		ends: ["companion.ended"],
		key: field("pool", "pid"),
	},
	{
		what: "start of worker",
		start: "worker.starting",
		ends: ["worker.ready", "worker.start_failed"],
		key: field("incarnation"),
	},
	{
		what: "worker",
		start: "worker.spawned",
		ends: ["worker.exited"],
		key: field("incarnation"),
	},
	{
		what: "call",
		start: "call.accepted",
		ends: ["call.settled"],
		key: field("pool", "callId"),
	},
	{
		what: "attempt of call",
		start: "call.dispatched",
		ends: ["call.released"],
		key: field("pool", "callId", "attempt"),
	},
	{
		what: "job",
		start: "job.accepted",
		ends: ["job.settled"],
		key: field("jobId"),
	},
	{
		what: "session",
		start: "session.started",
		ends: ["session.ended"],
		key: field("pool", "sessionId"),
	},
];

/** What breaks the rule, in words; empty when nothing does. A thing may start again after its end. */
export function unpaired(
	events: readonly SnakepitEvent[],
	pairs: readonly EventPair[] = EVENT_PAIRS,
): readonly string[] {
	return pairs.flatMap((pair) => {
		const open = new Set<string>();
		const violations: string[] = [];
		for (const event of events) {
			const key = pair.key(event);
			if (key === undefined) continue;
			if (event.type === pair.start) {
				if (open.has(key))
					violations.push(
						`${pair.what} ${key}: ${event.type} twice without an end between`,
					);
				open.add(key);
			} else if (pair.ends.includes(event.type) && !open.delete(key)) {
				violations.push(
					`${pair.what} ${key}: ${event.type} without ${pair.start}, or a second end`,
				);
			}
		}
		for (const key of open)
			violations.push(
				`${pair.what} ${key}: ${pair.start} without ${pair.ends.join(" or ")}`,
			);
		return violations;
	});
}
