import type { FailedCall as ServedFailedCall } from "@snakepit/control/server";
import type { ErrorCode } from "../contract/error-codes.ts";
import type { AttemptDetails, EventOf } from "../contract/events.ts";
import { shortened } from "../contract/shortened.ts";
import { bothEnds } from "../contract/telling-lines.ts";
import { parseObject } from "./incidents.ts";

/**
 * A call that failed or timed out, as the ledger keeps it. Calls that their own caller aborted are not kept. With
 * `history: { content: "left_out" }`, it has no `command`, `message`, `traceback` and `args`.
 */
export interface FailedCall extends ServedFailedCall {
	readonly code: ErrorCode;
}

/** The event of a call that failed. */
type SettledCall = EventOf<"call.settled">;

/** The most failed calls of one run that are kept. */
export const FAILED_CALLS_LIMIT = 500;
/** The most characters of them together. */
export const FAILED_CALLS_CHARACTERS: number = 512 * 1_024;
/** The most calls kept of those that fail alike in one second; the others are counted. */
export const ALIKE_A_SECOND = 5;
/** The most kinds of failure a second that are kept by command; beyond that, a kind is a pool and a code. */
export const KINDS_A_SECOND = 20;

const NAME_CHARACTERS = 200;
const MESSAGE_CHARACTERS = 2_000;
const TRACEBACK_CHARACTERS = 4_000;

/** What is kept of one call. */
interface Kept {
	readonly kind: string;
	/** The call as JSON. */
	readonly text: string;
	readonly wallMs: number;
	alike: number;
	/** Whether the file has it, perhaps with another `alike`. */
	state: "new" | "in file";
}

/** A row of the file. */
export interface FailedCallRow {
	readonly id: number;
	readonly wallMs: number;
	/** The call as JSON, without `alike`. */
	readonly text: string;
	readonly alike: number;
}

/** What the file does not have yet. */
export interface FailedCallChanges {
	/** New, or counted further. */
	readonly rows: readonly FailedCallRow[];
	/** Rows that made room for others, by id. */
	readonly removed: readonly number[];
}

/** Calls of one kind in the current second. */
interface Seen {
	count: number;
	/** The last one that is kept. */
	lastId: number | undefined;
}

/**
 * The calls of a run that failed, in memory, and what of them is in its file. Bounded in number, in characters and in
 * time: of calls that fail alike, by pool, command and code, a few a second are kept, and the others only counted. When
 * there is no more room, the oldest of the kind that has most makes it: what fails again and again does not drive out
 * what failed once.
 */
export class NotedFailedCalls {
	readonly #content: "recorded" | "left_out";
	/** By id, oldest first. */
	readonly #kept = new Map<number, Kept>();
	readonly #unwritten = new Set<number>();
	readonly #removed = new Set<number>();
	#characters = 0;
	#ids = 0;
	/** When the current second began, on the monotonic clock: with the first call that failed in it. */
	#secondMs = Number.NEGATIVE_INFINITY;
	readonly #seen = new Map<string, Seen>();

	constructor(content: "recorded" | "left_out") {
		this.#content = content;
	}

	/** Oldest first. */
	get all(): readonly FailedCall[] {
		return [...this.#kept.values()].map(({ text, alike }) => ({
			...(JSON.parse(text) as Omit<FailedCall, "alike">),
			alike,
		}));
	}

	/** How many are not in the file, or not as they are now. */
	get unwrittenCount(): number {
		return this.#unwritten.size + this.#removed.size;
	}

	/** Counts a call that has failed. Returns whether it is to be given to {@link keep}. @param nowMs on the monotonic clock. */
	counts(pool: string, command: string, code: string, nowMs: number): boolean {
		if (nowMs - this.#secondMs >= 1_000) {
			this.#secondMs = nowMs;
			this.#seen.clear();
		}
		const seen = this.#seenOf(pool, command, code);
		if (seen.count < ALIKE_A_SECOND) {
			seen.count++;
			return true;
		}
		const last =
			seen.lastId === undefined ? undefined : this.#kept.get(seen.lastId);
		if (last === undefined || seen.lastId === undefined) return true;
		last.alike++;
		this.#unwritten.add(seen.lastId);
		return false;
	}

	/** Keeps a call. Never throws, whatever its arguments are. */
	keep(call: SettledCall): void {
		const { pool, command, code = "", wallMs } = call;
		const text = JSON.stringify(failedCall(call, this.#content));
		const id = this.#ids++;
		const kind = kindOf(pool, command, code);
		this.#kept.set(id, { kind, text, wallMs, alike: 0, state: "new" });
		this.#unwritten.add(id);
		this.#characters += text.length;
		this.#seenOf(pool, command, code).lastId = id;
		while (
			this.#kept.size > FAILED_CALLS_LIMIT ||
			this.#characters > FAILED_CALLS_CHARACTERS
		)
			this.#makeRoom();
	}

	changes(): FailedCallChanges {
		const rows = [...this.#unwritten].flatMap((id) => {
			const kept = this.#kept.get(id);
			if (kept === undefined) return [];
			const { wallMs, text, alike } = kept;
			return [{ id, wallMs, text, alike }];
		});
		return { rows, removed: [...this.#removed] };
	}

	/** The file has all changes now. */
	written(): void {
		for (const id of this.#unwritten) {
			const kept = this.#kept.get(id);
			if (kept !== undefined) kept.state = "in file";
		}
		this.#unwritten.clear();
		this.#removed.clear();
	}

	/** The file has lost everything. */
	rewrite(): void {
		this.#removed.clear();
		for (const [id, kept] of this.#kept) {
			kept.state = "new";
			this.#unwritten.add(id);
		}
	}

	#seenOf(pool: string, command: string, code: string): Seen {
		const known = this.#seen.get(kindOf(pool, command, code));
		if (known !== undefined) return known;
		const isTold = this.#seen.size < KINDS_A_SECOND;
		// A command is never empty: this is the kind of all others.
		const kind = kindOf(pool, isTold ? command : "", code);
		const seen = this.#seen.get(kind) ?? { count: 0, lastId: undefined };
		this.#seen.set(kind, seen);
		return seen;
	}

	/** The oldest of the kind that has most goes, and is counted with the next one of its kind. */
	#makeRoom(): void {
		const byKind = Map.groupBy(this.#kept.entries(), ([, { kind }]) => kind);
		const [most = []] = [...byKind.values()].toSorted(
			(a, b) => b.length - a.length,
		);
		const [oldest, next] = most;
		if (oldest === undefined) return;
		const [id, kept] = oldest;
		if (next !== undefined) {
			const [nextId, nextKept] = next;
			nextKept.alike += 1 + kept.alike;
			this.#unwritten.add(nextId);
		}
		this.#kept.delete(id);
		this.#unwritten.delete(id);
		this.#characters -= kept.text.length;
		if (kept.state === "in file") this.#removed.add(id);
	}
}

function kindOf(pool: string, command: string, code: string): string {
	return `${pool}\n${command}\n${code}`;
}

/** What is kept of a call. */
export function failedCall(
	call: SettledCall,
	content: "recorded" | "left_out",
): Omit<FailedCall, "alike"> {
	const { wallMs, pool, callId, outcome, code = "", ran = "maybe" } = call;
	const { attempts, attemptDetails, traceId, totalMs } = call;
	const last = attemptDetails.at(-1);
	return {
		...{ wallMs, pool, callId },
		...(content === "recorded" && contentOf(call)),
		outcome: outcome === "timed_out" ? "timed_out" : "failed",
		...{ code, ran, attempts },
		workerId: last?.workerId,
		incarnation: last?.incarnation,
		...timesOf(attemptDetails, totalMs),
		...{ totalMs, traceId },
	};
}

function contentOf({
	command,
	message,
	remote,
	args,
}: SettledCall): Pick<
	FailedCall,
	"command" | "message" | "traceback" | "args"
> {
	const traceback = remote?.traceback;
	return {
		command: command.slice(0, NAME_CHARACTERS),
		message: message && bothEnds(message, MESSAGE_CHARACTERS),
		traceback: traceback && bothEnds(traceback, TRACEBACK_CHARACTERS),
		args: args === undefined ? undefined : shortened(args),
	};
}

function timesOf(
	attempts: readonly AttemptDetails[],
	totalMs: number,
): Pick<FailedCall, "waitedMs" | "ranMs"> {
	const sum = (value: (each: AttemptDetails) => number): number =>
		attempts.reduce((all, each) => all + value(each), 0);
	const waitedMs = sum((each) => each.waitedMs);
	const ranMs = sum((each) => each.ranMs);
	const last = attempts.at(-1);
	// It ended before it was tried, or tried again: what is left of its time it waited.
	const isWaiting = last === undefined || last.pauseMs !== undefined;
	const pausedMs = sum((each) => each.pauseMs ?? 0);
	const leftMs = isWaiting ? totalMs - waitedMs - ranMs - pausedMs : 0;
	return { waitedMs: waitedMs + Math.max(0, leftMs), ranMs };
}

/** Reads a call from the ledger; `undefined` when `text` is none. */
export function parseFailedCall(
	text: string,
	alike: number,
): FailedCall | undefined {
	const call = parseObject(text);
	const names = [call?.["pool"], call?.["callId"], call?.["code"]];
	return typeof call?.["wallMs"] === "number" &&
		names.every((name) => typeof name === "string")
		? { ...(call as unknown as FailedCall), alike }
		: undefined;
}
