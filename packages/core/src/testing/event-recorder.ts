import { clearTimeout, setTimeout } from "node:timers";
import type {
	EventOf,
	SnakepitEvent,
	SnakepitEventType,
} from "../contract/events.ts";

/** Real processes start slowly on a busy machine. */
const DEADLINE_MS = 20_000;

interface Waiter {
	readonly offer: (event: SnakepitEvent) => boolean;
}

/** Keeps every event, and lets a test wait for one without sleeping. */
export class EventRecorder {
	/** Every event that was recorded, in order. */
	readonly events: SnakepitEvent[] = [];
	readonly #waiters = new Set<Waiter>();

	/** The listener to hand out; never throws. */
	readonly record = (event: SnakepitEvent): void => {
		this.events.push(event);
		for (const waiter of [...this.#waiters]) {
			if (waiter.offer(event)) this.#waiters.delete(waiter);
		}
	};

	/** The events of one type, in order. */
	of<Type extends SnakepitEventType>(type: Type): readonly EventOf<Type>[] {
		return this.events.filter(
			(event): event is EventOf<Type> => event.type === type,
		);
	}

	/** The types of all events, in order. */
	types(): readonly SnakepitEventType[] {
		return this.events.map((event) => event.type);
	}

	/** Resolves with the first event that fits, also when it is in the past. */
	async waitFor<Type extends SnakepitEventType>(
		type: Type,
		predicate: (event: EventOf<Type>) => boolean = () => true,
		deadlineMs: number = DEADLINE_MS,
	): Promise<EventOf<Type>> {
		return (
			this.of(type).find(predicate) ?? this.next(type, predicate, deadlineMs)
		);
	}

	/**
	 * Resolves with the first event from now on that fits.
	 *
	 * @param deadlineMs real time: a virtual clock stands still while a test waits. Default: 20,000.
	 * @throws Error after the deadline, with what was seen.
	 */
	next<Type extends SnakepitEventType>(
		type: Type,
		predicate: (event: EventOf<Type>) => boolean = () => true,
		deadlineMs: number = DEADLINE_MS,
	): Promise<EventOf<Type>> {
		return new Promise((resolve, reject) => {
			const waiter: Waiter = {
				offer: (event) => {
					if (event.type !== type) return false;
					try {
						if (!predicate(event as EventOf<Type>)) return false;
						resolve(event as EventOf<Type>);
					} catch (error) {
						reject(error);
					}
					clearTimeout(deadline);
					return true;
				},
			};
			const deadline = setTimeout(() => {
				this.#waiters.delete(waiter);
				reject(
					new Error(
						`No ${type} that fits within ${deadlineMs} ms. Seen:\n${this.summary()}`,
					),
				);
			}, deadlineMs);
			this.#waiters.add(waiter);
		});
	}

	/** One line per event, for a failing test's message. */
	summary(): string {
		if (this.events.length === 0) return "  nothing";
		return this.events
			.map((event) => `  ${JSON.stringify(event, textOfErrors)}`)
			.join("\n");
	}

	/**
	 * Checks that whatever lasts had one start and exactly one end.
	 *
	 * @throws Error that lists what was opened twice, closed twice, or never closed.
	 */
	assertPaired(): void {
		const violations = unpaired(this.events);
		if (violations.length === 0) return;
		throw new Error(
			`Events are not in pairs:\n  ${violations.join("\n  ")}\nSeen:\n${this.summary()}`,
		);
	}
}

/** Replaces what `JSON.stringify` has taken from `this`, where it is shown shorter. */
function textOfErrors(
	this: Readonly<Record<string, unknown>>,
	key: string,
	shown: unknown,
): unknown {
	const value = this[key];
	if (typeof value === "bigint") return `${value}n`;
	if (!(value instanceof Error)) return shown;
	return "code" in value
		? `${String(value.code)}: ${value.message}`
		: `${value.name}: ${value.message}`;
}

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
