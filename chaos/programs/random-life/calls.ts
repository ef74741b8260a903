import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import {
	type ExecuteOptions,
	type PoolSession,
	type Ran,
	SnakepitError,
} from "@snakepit/core";
import type { Chosen } from "./lives.ts";
import type { Observer } from "./observer.ts";

/** One call, and what is known of it. */
export interface CallRecord {
	/** Its own, and what its tool writes into the journal. */
	readonly tag: string;
	readonly tool: string;
	readonly options: ExecuteOptions;
	readonly session: KnownSession | undefined;
	/** Codes that it may fail with, beside those that any call may. */
	readonly mayFail: readonly string[];
	readonly madeAt: number;
	callId: string | undefined;
	/** A code, `ok`, or `left` for a stream that its consumer left. */
	outcome: string | undefined;
	ran: Ran | undefined;
	/** Items that a consumer took. */
	taken: number;
}

/** One session, and what its tools must remember. */
export interface KnownSession {
	readonly session: PoolSession;
	readonly affinity: "strict" | "hint";
	/** Tags of its calls. */
	readonly tags: Set<string>;
	/** Those that were answered, in the order of their answers. */
	readonly answered: string[];
	state: "open" | "closed";
}

/** Describes an error in the state of a session that one of its tools reported. */
function wrongInSession(
	session: KnownSession,
	tag: string,
	found: readonly string[],
	answeredBefore: number,
): readonly string[] {
	const wrong: string[] = [];
	for (const each of found)
		if (!session.tags.has(each)) wrong.push(`${each} of another session`);
	if (new Set(found).size !== found.length) wrong.push("a tag twice");
	if (!found.includes(tag)) wrong.push("not its own tag");
	if (session.affinity === "strict")
		for (const each of session.answered.slice(0, answeredBefore))
			if (!found.includes(each)) wrong.push(`no ${each} any more`);
	return wrong;
}

/** The codes with which a call may end, whatever its tool does. */
const ANY_CALL: ReadonlySet<string> = new Set([
	"CALL_ABORTED",
	"CALL_TIMEOUT",
	"QUEUE_TIMEOUT",
	"QUEUE_FULL",
	"POOL_CLOSED",
	"WORKER_EXITED",
	"WORKER_REPLACED",
	"WORKER_HUNG",
	"SESSION_LOST",
	"SESSION_CLOSED",
]);

/**
 * What is wrong with the error that a call ended with; `undefined` when nothing is.
 *
 * @param state whether the pool was closed by the time the call ended.
 */
function wrongWith(
	call: CallRecord,
	{ code, ran, cause }: SnakepitError,
	{ queueLimit, ttlMs }: Chosen,
	state: "open" | "closing",
): string | undefined {
	if (!ANY_CALL.has(code) && !call.mayFail.includes(code))
		return "nothing that was done leads to it";
	const { options, session, madeAt } = call;
	const { signal, timeoutMs, queueTimeoutMs, input } = options;
	const unless = (right: boolean, text: string): string | undefined =>
		right ? undefined : text;
	switch (code) {
		case "CALL_ABORTED":
			if (signal?.aborted !== true) return "nobody aborted it";
			return unless(cause === signal.reason, "another reason");
		case "CALL_TIMEOUT": {
			const tookMs = performance.now() - madeAt;
			return unless(
				timeoutMs !== undefined && tookMs > timeoutMs - 5,
				`${tookMs} ms of ${timeoutMs}`,
			);
		}
		case "QUEUE_TIMEOUT":
			return unless(queueTimeoutMs !== undefined, "it had no limit");
		case "QUEUE_FULL":
			return unless(queueLimit <= 100, "it was not full");
		case "POOL_CLOSED":
			return unless(state !== "open", "it is open");
		case "WORKER_REPLACED":
			// A call that a leaving worker refuses runs on the next worker, unless it has read some of its input.
			return unless(
				ran !== "no" || input !== undefined,
				"no other worker was tried",
			);
		case "SESSION_LOST":
			return unless(session?.affinity === "strict", "it is not strict");
		case "SESSION_CLOSED":
			return unless(
				session?.state !== "open" || ttlMs <= 1_000 || state !== "open",
				"it is open",
			);
		default:
			return undefined;
	}
}

/** The journal of the tools. */
interface Journal {
	/** By tag: the processes in which it began, once for each time. */
	readonly begun: ReadonlyMap<string, readonly number[]>;
	/** By tag: how many items a stream produced, at most. */
	readonly yielded: ReadonlyMap<string, number>;
}

export function readJournal(path: string): Journal {
	const begun = new Map<string, number[]>();
	const yielded = new Map<string, number>();
	for (const line of readFileSync(path, "utf8").split("\n")) {
		const [kind, tag = "", pid, value] = line.split(" ");
		if (kind === "B") begun.set(tag, [...(begun.get(tag) ?? []), Number(pid)]);
		if (kind === "Y")
			yielded.set(tag, Math.max(yielded.get(tag) ?? 0, Number(value)));
	}
	return { begun, yielded };
}

/** Small chunks that may be in transit without credit. */
const SMALL_CHUNKS = 256;

/** Compares how a call ended with what its tool did. */
export function contradictions(
	call: CallRecord,
	{ begun, yielded }: Journal,
	observer: Observer,
	streamCredit: number = SMALL_CHUNKS,
): readonly string[] {
	const { tag, outcome, ran, options, callId } = call;
	const pids = begun.get(tag) ?? [];
	const times = pids.length;
	const seen = callId === undefined ? undefined : observer.calls.get(callId);
	const { input, retry } = options;
	const retries = input === undefined && retry ? retry.attempts - 1 : 0;
	const code = seen?.settled[0]?.code;
	const worker = observer.workers.get(seen?.dispatched.at(-1) ?? "");
	const isLost = outcome === "WORKER_EXITED" || outcome === "WORKER_HUNG";
	const unread = (yielded.get(tag) ?? 0) - call.taken;
	const checks: readonly (readonly [wrong: boolean, text: string])[] = [
		[outcome === undefined, "it never settled"],
		[outcome === "ok" && times === 0, "it was answered and never began"],
		[ran === "no" && times > 0, `it began ${times} times`],
		[times > 1 + retries, `it began ${times} times with ${retries} retries`],
		[
			ran !== undefined && seen !== undefined && code !== outcome,
			`its event has ${code}`,
		],
		...pids.map((pid) => {
			const incarnation = observer.incarnationOf(pid);
			return [
				!incarnation || !seen?.dispatched.includes(incarnation),
				`it began in ${pid}, where it was not sent`,
			] as const;
		}),
		[isLost && worker?.exited !== 1, "its worker did not end"],
		[unread > streamCredit + 1, `it was ${unread} items ahead`],
	];
	return checks
		.filter(([wrong]) => wrong)
		.map(
			([, text]) =>
				`${tag} ${call.tool} (${callId}, ${outcome}, ran ${ran}): ${text}`,
		);
}

/** Longer than any call of these programs. */
const DEADLINE_MS = 60_000;

/** The calls of one pool, and whether each ended in an allowed way. */
export class Calls {
	readonly all: CallRecord[] = [];
	readonly endings: Record<string, number> = {};
	readonly #name: string;
	readonly #chosen: Chosen;
	readonly #observer: Observer;
	readonly #context = new AsyncLocalStorage<CallRecord>();
	pool: "open" | "closing" = "open";

	constructor(name: string, chosen: Chosen, observer: Observer) {
		this.#name = name;
		this.#chosen = chosen;
		this.#observer = observer;
	}

	/** The call in whose context this runs. */
	get current(): CallRecord | undefined {
		return this.#context.getStore();
	}

	wrong(what: string): void {
		this.#observer.wrong.push(what);
	}

	make(
		tool: string,
		options: ExecuteOptions,
		mayFail: readonly string[] = [],
		session?: KnownSession,
	): CallRecord {
		const record: CallRecord = {
			tag: `${this.#name}-${this.all.length}`,
			...{ tool, options, session, mayFail },
			madeAt: performance.now(),
			callId: undefined,
			outcome: undefined,
			ran: undefined,
			taken: 0,
		};
		this.all.push(record);
		session?.tags.add(record.tag);
		return record;
	}

	/** Makes a call, and judges how it settles. */
	async watch<T>(
		record: CallRecord,
		call: () => Promise<T>,
		isRight: (value: T) => boolean,
	): Promise<T> {
		const about = `${record.tag} ${record.tool}`;
		const late = setTimeout(
			() => this.wrong(`${about} is not settled after ${DEADLINE_MS} ms`),
			DEADLINE_MS,
		);
		const before = record.session?.answered.length ?? 0;
		try {
			const value = await this.#context.run(record, call);
			record.outcome ??= "ok";
			if (!isRight(value))
				this.wrong(`${about} answered ${JSON.stringify(value)}`);
			this.#remembered(record, value, before);
			return value;
		} catch (error) {
			this.#failed(record, error);
			throw error;
		} finally {
			clearTimeout(late);
			const { outcome = "none" } = record;
			this.endings[outcome] = (this.endings[outcome] ?? 0) + 1;
		}
	}

	/** Calls what makes the call, and takes its id from the event of that turn. */
	noted<T>(record: CallRecord, call: () => T): T {
		this.#observer.accepted = undefined;
		const begun = call();
		record.callId ??= this.#observer.accepted;
		return begun;
	}

	#remembered(record: CallRecord, value: unknown, before: number): void {
		const { session, tag, tool } = record;
		if (session === undefined) return;
		if (Array.isArray(value))
			for (const wrong of wrongInSession(session, tag, value, before))
				this.wrong(`${tag} ${tool} found ${wrong}`);
		if (Array.isArray(value) || record.taken > 0) session.answered.push(tag);
	}

	#failed(record: CallRecord, error: unknown): void {
		const about = `${record.tag} ${record.tool} (${record.callId})`;
		if (!(error instanceof SnakepitError)) {
			record.outcome = "foreign";
			this.wrong(
				`${about}: ${error instanceof Error ? error.stack : String(error)}`,
			);
			return;
		}
		record.outcome = error.code;
		record.ran = error.ran;
		const why = wrongWith(record, error, this.#chosen, this.pool);
		if (why !== undefined)
			this.wrong(`${about}: ${error.code}, ${why}: ${error.message}`);
	}
}
