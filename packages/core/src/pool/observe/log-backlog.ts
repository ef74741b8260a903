import type {
	EventOf,
	SnakepitEvent,
	SnakepitListener,
} from "../../contract/events.ts";

type LogEvent = EventOf<"worker.output"> | EventOf<"worker.logged">;

/** So much is kept of each worker, over its incarnations. */
export const BACKLOG_LINES = 1_000;
export const BACKLOG_CHARACTERS: number = 256 << 10;
/** Of one record, whose traceback may be long. */
const RECORD_CHARACTERS = 16 << 10;

/** A line, and its place among those of all workers. */
export interface KeptLine {
	readonly event: LogEvent;
	readonly sequence: number;
}

/** Keeps the last lines of each worker of a pool, for those who look at the pool later. */
export class LogBacklog {
	readonly #nextSequence: () => number;
	readonly #rings = new Map<string, LineRing>();

	/** @param nextSequence counts the lines of all pools of the run. */
	constructor(nextSequence: () => number) {
		this.#nextSequence = nextSequence;
	}

	/** Takes every event that a worker prints or logs. */
	readonly note: SnakepitListener = (event: SnakepitEvent) => {
		const line = event as LogEvent;
		let ring = this.#rings.get(line.workerId);
		if (ring === undefined) {
			ring = new LineRing();
			this.#rings.set(line.workerId, ring);
		}
		ring.push(shortened(line), this.#nextSequence());
	};

	/** Those of each worker oldest first. */
	lines(): readonly KeptLine[] {
		return [...this.#rings.values()].flatMap((ring) => ring.lines());
	}

	/** How many lines of each worker are not kept any more. */
	dropped(): readonly (readonly [workerId: string, lines: number])[] {
		return [...this.#rings].flatMap(([workerId, { dropped }]) =>
			dropped === 0 ? [] : [[workerId, dropped] as const],
		);
	}
}

/** The last lines of one worker. Its arrays never move what they hold: a line costs the same however many are kept. */
class LineRing {
	readonly #events: (LogEvent | undefined)[] = [];
	readonly #sequences: number[] = [];
	/** The index of the oldest. */
	#first = 0;
	#size = 0;
	#characters = 0;
	dropped = 0;

	push(event: LogEvent, sequence: number): void {
		this.#characters += charactersOf(event);
		while (
			this.#size === BACKLOG_LINES ||
			(this.#size > 0 && this.#characters > BACKLOG_CHARACTERS)
		)
			this.#drop();
		const index = (this.#first + this.#size) % BACKLOG_LINES;
		this.#events[index] = event;
		this.#sequences[index] = sequence;
		this.#size++;
	}

	#drop(): void {
		const oldest = this.#events[this.#first];
		if (oldest !== undefined) this.#characters -= charactersOf(oldest);
		this.#events[this.#first] = undefined;
		this.#first = (this.#first + 1) % BACKLOG_LINES;
		this.#size--;
		this.dropped++;
	}

	lines(): readonly KeptLine[] {
		return Array.from({ length: this.#size }, (_, n) => {
			const index = (this.#first + n) % BACKLOG_LINES;
			const event = this.#events[index] as LogEvent;
			return { event, sequence: this.#sequences[index] as number };
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
	if (charactersOf(event) <= RECORD_CHARACTERS) return event;
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
