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

/**  names the fields that distinguish two of them. */
function pair(
	what: string,
	start: SnakepitEventType,
	ends: readonly SnakepitEventType[],
	...names: readonly string[]
): EventPair {
	const key = (event: SnakepitEvent): string | undefined => {
		const fields = event as unknown as Record<string, unknown>;
		const values = names.map((name) => fields[name]);
		return values.every((value) => value !== undefined)
			? values.join(" ")
			: undefined;
	};
	return { what, start, ends, key };
}

/** Whatever lasts has one start and exactly one end. */
export const EVENT_PAIRS: readonly EventPair[] = [
	pair("run", "run.started", ["run.ended"], "runId"),
	pair("cleanup", "cleanup.started", ["cleanup.finished"], "runId"),
	pair("pool", "pool.started", ["pool.closed"], "pool"),
	pair("pause of pool", "pool.paused", ["pool.resumed"], "pool"),
	pair("preloaded parent", "preload.started", ["preload.ended"], "pool", "pid"),
	pair("companion", "companion.started", ["companion.ended"], "pool", "pid"),
	pair(
		"start of worker",
		"worker.starting",
		["worker.ready", "worker.start_failed"],
		"incarnation",
	),
	pair("worker", "worker.spawned", ["worker.exited"], "incarnation"),
	pair("call", "call.accepted", ["call.settled"], "pool", "callId"),
	pair(
		"attempt of call",
		"call.dispatched",
		["call.released"],
		"pool",
		"callId",
		"attempt",
	),
	pair("job", "job.accepted", ["job.settled"], "jobId"),
	pair("session", "session.started", ["session.ended"], "pool", "sessionId"),
];

/** What breaks the rule, in words; empty when nothing does. A thing may start again after its end. */
export function unpaired(
	events: readonly SnakepitEvent[],
	pairs: readonly EventPair[] = EVENT_PAIRS,
): readonly string[] {
	return pairs.flatMap(({ what, start, ends, key: keyOf }) => {
		const open = new Set<string>();
		const violations: string[] = [];
		for (const event of events) {
			const key = keyOf(event);
			if (key === undefined) continue;
			if (event.type === start) {
				if (open.has(key))
					violations.push(
						`${what} ${key}: ${event.type} twice without an end between`,
					);
				open.add(key);
			} else if (ends.includes(event.type) && !open.delete(key)) {
				violations.push(
					`${what} ${key}: ${event.type} without ${start}, or a second end`,
				);
			}
		}
		for (const key of open)
			violations.push(`${what} ${key}: ${start} without ${ends.join(" or ")}`);
		return violations;
	});
}
