import type {
	EventOf,
	SnakepitEvent,
	SnakepitListener,
} from "../../contract/events.ts";

type LogEvent = EventOf<"worker.output"> | EventOf<"worker.logged">;

/** So much is kept of each worker, over its incarnations; what is too much goes a part at a time. */
export const BACKLOG_LINES = 1_000;
export const BACKLOG_CHARACTERS: number = 256 << 10;
/** Of one record, whose traceback may be long. */
const RECORD_CHARACTERS = 16 << 10;
/** A part has at most so many lines and characters. */
const PART_LINES = 50;
const PART_CHARACTERS: number = 16 << 10;

/** A line, and what orders it among those of other workers. */
export interface KeptLine {
	readonly event: LogEvent;
	/** When it came, in milliseconds; never less than that of a line before it. */
	readonly orderMs: number;
}

/** Keeps the last lines of each worker of a pool, for those who look at the pool later. */
export class LogBacklog {
	readonly #tails = new Map<string, LineTail>();
	/** That of the last line: the next one is often of the same worker. */
	#incarnation = "";
	#tail: LineTail = new LineTail();

	/** Takes every event of the pool, and keeps what workers print and log. */
	readonly note: SnakepitListener = (event: SnakepitEvent) => {
		if (event.type !== "worker.output" && event.type !== "worker.logged")
			return;
		if (event.incarnation !== this.#incarnation) this.#turnTo(event);
		this.#tail.push(event);
	};

	#turnTo({ workerId, incarnation }: LogEvent): void {
		const tail = this.#tails.get(workerId) ?? new LineTail();
		this.#tails.set(workerId, tail);
		this.#tail = tail;
		this.#incarnation = incarnation;
	}

	/** Those of each worker oldest first. */
	lines(): readonly KeptLine[] {
		return [...this.#tails.values()].flatMap((tail) => tail.lines());
	}

	/** How many lines of each worker are not kept any more. */
	dropped(): readonly (readonly [workerId: string, lines: number])[] {
		return [...this.#tails].flatMap(([workerId, { dropped }]) =>
			dropped === 0 ? [] : [[workerId, dropped] as const],
		);
	}
}

interface Part {
	readonly events: LogEvent[];
	characters: number;
}

/**
 * The last lines of one worker, in parts: a line is added to a new array, which costs the garbage collector less than a
 * place in an old one, and lines are dropped with their part.
 */
class LineTail {
	#parts: Part[] = [];
	#last: Part = { events: [], characters: 0 };
	#lines = 0;
	#characters = 0;
	dropped = 0;

	push(event: LogEvent): void {
		let length = charactersOf(event);
		let kept = event;
		if (length > RECORD_CHARACTERS) {
			kept = shortened(event);
			length = RECORD_CHARACTERS;
		}
		const last = this.#last;
		last.events.push(kept);
		last.characters += length;
		if (last.events.length >= PART_LINES || last.characters >= PART_CHARACTERS)
			this.#complete();
	}

	/** The next line begins a new part; there is room for it in full. */
	#complete(): void {
		const part = this.#last;
		this.#parts.push(part);
		this.#lines += part.events.length;
		this.#characters += part.characters;
		this.#last = { events: [], characters: 0 };
		while (
			this.#lines > BACKLOG_LINES - PART_LINES ||
			this.#characters > BACKLOG_CHARACTERS - 2 * PART_CHARACTERS
		) {
			const oldest = this.#parts.shift();
			if (oldest === undefined) break;
			this.#lines -= oldest.events.length;
			this.#characters -= oldest.characters;
			this.dropped += oldest.events.length;
		}
	}

	lines(): readonly KeptLine[] {
		let orderMs = Number.NEGATIVE_INFINITY;
		return [...this.#parts, this.#last]
			.flatMap(({ events }) => events)
			.map((event) => {
				orderMs = Math.max(orderMs, event.wallMs);
				return { event, orderMs };
			});
	}
}

function charactersOf(event: LogEvent): number {
	if (event.type === "worker.output") return event.line.length;
	const { message, traceback } = event.record;
	return message.length + (traceback?.length ?? 0);
}

/** A long record without what is beyond the limit; what was printed has a limit of its own (`output.maxLineBytes`). */
function shortened(event: LogEvent): LogEvent {
	if (event.type === "worker.output")
		return {
			...event,
			line: event.line.slice(0, RECORD_CHARACTERS),
			cut: true,
		};
	const { record } = event;
	const message = record.message.slice(0, RECORD_CHARACTERS);
	const room = RECORD_CHARACTERS - message.length;
	const { traceback } = record;
	return {
		...event,
		record: {
			...record,
			message,
			...(traceback !== undefined && { traceback: traceback.slice(0, room) }),
		},
	};
}
