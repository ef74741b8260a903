import { AsyncLocalStorage } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
	type ExecuteOptions,
	type Pool,
	type PoolSession,
	type Ran,
	SnakepitError,
} from "@snakepit/core";
import type { SeededRandom } from "../../../packages/core/src/testing/virtual-pool.ts";
import type { Chosen } from "./lives.ts";
import type { Observer } from "./observer.ts";

/** Longer than any call of these programs. */
const DEADLINE_MS = 60_000;
/** Small chunks that may be in transit without credit. */
const SMALL_CHUNKS = 256;

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

/** What is special about one call. */
export interface Particular {
	readonly mayFail?: readonly string[];
	/** It does not end by itself. */
	readonly hangs?: "yes";
	readonly input?: AsyncIterable<unknown> | Iterable<unknown>;
	readonly session?: KnownSession | undefined;
}
export type Arguments = Readonly<Record<string, unknown>>;

type PoolState = "open" | "closing";

/** With these codes a call may end, whatever its tool does, if the condition holds. */
const ENDS: Readonly<
	Record<
		string,
		(
			call: CallRecord,
			error: SnakepitError,
			chosen: Chosen,
			pool: PoolState,
		) => boolean
	>
> = {
	CALL_ABORTED: ({ options: { signal } }, { cause }) =>
		signal?.aborted === true && cause === signal.reason,
	CALL_TIMEOUT: ({ options: { timeoutMs = Number.NaN }, madeAt }) =>
		performance.now() - madeAt > timeoutMs - 5,
	QUEUE_TIMEOUT: ({ options }) => options.queueTimeoutMs !== undefined,
	QUEUE_FULL: (_call, _error, { queueLimit }) => queueLimit <= 100,
	POOL_CLOSED: (_call, _error, _chosen, pool) => pool !== "open",
	WORKER_EXITED: () => true,
	WORKER_HUNG: () => true,
	// A call that a leaving worker refuses runs on the next worker, unless it has read some of its input.
	WORKER_REPLACED: ({ options }, { ran }) =>
		ran !== "no" || options.input !== undefined,
	SESSION_LOST: ({ session }) => session?.affinity === "strict",
	SESSION_CLOSED: ({ session }, _error, { ttlMs }, pool) =>
		session?.state !== "open" || ttlMs <= 1_000 || pool !== "open",
};

/** Makes the calls of one pool, and checks that each ends in an allowed way. Some are aborted, some leave their stream early, some stop reading it. */
export class Calls {
	readonly all: CallRecord[] = [];
	readonly endings: Record<string, number> = {};
	readonly #name: string;
	readonly #chosen: Chosen;
	readonly #observer: Observer;
	readonly #chance: SeededRandom;
	readonly #pool: () => Pool;
	readonly #context = new AsyncLocalStorage<CallRecord>();
	pool: PoolState = "open";

	/** @param pool is asked for with the first call. */
	constructor(
		name: string,
		chosen: Chosen,
		observer: Observer,
		chance: SeededRandom,
		pool: () => Pool,
	) {
		this.#name = name;
		this.#chosen = chosen;
		this.#observer = observer;
		this.#chance = chance;
		this.#pool = pool;
	}

	/** The call in whose context this runs. */
	get current(): CallRecord | undefined {
		return this.#context.getStore();
	}

	wrong(text: string): void {
		this.#observer.wrong.push(text);
	}

	/** A call with one answer. */
	async answer(
		tool: string,
		args: Arguments,
		isRight: (value: unknown, tag: string) => boolean,
		particular: Particular = {},
	): Promise<void> {
		const { call, abandon } = this.#prepare(tool, particular);
		const before = this.#chance.fraction() < 0.1;
		if (before) abandon();
		const over = this.execute(call, args, isRight);
		if (!before) abandon();
		await over.catch(() => {});
	}

	execute(
		call: CallRecord,
		args: Arguments,
		isRight: (value: unknown, tag: string) => boolean,
	): Promise<unknown> {
		const { tag, tool, options, session } = call;
		return this.#watch(
			call,
			() =>
				this.#noted(call, () =>
					(session?.session ?? this.#pool()).execute(
						tool,
						{ tag, ...args },
						options,
					),
				),
			(value) => isRight(value, tag),
		);
	}

	/** A call that streams. */
	async read(
		tool: string,
		args: Arguments,
		items: number,
		expected: (index: number, tag: string) => unknown,
		particular: Particular = {},
	): Promise<void> {
		const { call, abandon } = this.#prepare(tool, particular);
		const { tag, options, session } = call;
		const take = (value: unknown): void => {
			if (value !== expected(call.taken, tag))
				this.wrong(
					`${tag} ${tool}: item ${call.taken} is ${JSON.stringify(value)}`,
				);
			call.taken++;
		};
		await this.#watch(
			call,
			() => {
				// Made here: it begins in the context of the call that makes it.
				const stream = (session?.session ?? this.#pool()).stream(
					tool,
					{ tag, ...args },
					options,
				);
				return this.#consume(call, stream, items, take, abandon);
			},
			() => call.outcome === "left" || call.taken === items,
		).catch(() => {});
	}

	make(
		tool: string,
		options: ExecuteOptions,
		mayFail: readonly string[] = [],
		session?: KnownSession,
	): CallRecord {
		const call: CallRecord = {
			tag: `${this.#name}-${this.all.length}`,
			...{ tool, options, session, mayFail },
			madeAt: performance.now(),
			...{ callId: undefined, outcome: undefined, ran: undefined, taken: 0 },
		};
		this.all.push(call);
		session?.tags.add(call.tag);
		return call;
	}

	/** Compares how calls ended with what their tools did. */
	compare(journal: string): void {
		const { begun, yielded } = readJournal(journal);
		const { streamCredit = SMALL_CHUNKS } = this.#chosen;
		for (const { tag, tool, callId = "", outcome, ...call } of this.all) {
			const { ran, taken, options } = call;
			const pids = begun.get(tag) ?? [];
			const times = pids.length;
			const seen = this.#observer.calls.get(callId);
			const { sentTo = [] } = seen ?? {};
			const { input, retry } = options;
			const retries = input === undefined && retry ? retry.attempts - 1 : 0;
			const isLost = outcome === "WORKER_EXITED" || outcome === "WORKER_HUNG";
			const unread = (yielded.get(tag) ?? 0) - taken;
			const wrong: readonly (readonly [boolean, string])[] = [
				[outcome === undefined, "it never settled"],
				[outcome === "ok" && times === 0, "it was answered and never began"],
				[ran === "no" && times > 0, `it began ${times} times`],
				[
					times > 1 + retries,
					`it began ${times} times with ${retries} retries`,
				],
				[
					ran !== undefined && seen !== undefined && seen.code !== outcome,
					`its event has ${seen?.code}`,
				],
				...pids.map((pid) => {
					const incarnation = this.#observer.incarnationOf(pid) ?? "";
					return [
						!sentTo.includes(incarnation),
						`it began in ${pid}, where it was not sent`,
					] as const;
				}),
				[
					isLost && !this.#observer.hasExited(sentTo.at(-1)),
					"its worker did not end",
				],
				[unread > streamCredit + 1, `it was ${unread} items ahead`],
			];
			for (const [isSo, text] of wrong)
				if (isSo)
					this.wrong(
						`${tag} ${tool} (${callId}, ${outcome}, ran ${ran}): ${text}`,
					);
		}
	}

	/** Makes a call, and judges how it settles. */
	async #watch<T>(
		call: CallRecord,
		begin: () => Promise<T>,
		isRight: (value: T) => boolean,
	): Promise<T> {
		const { tag, tool, session } = call;
		const late = setTimeout(
			() => this.wrong(`${tag} ${tool} is not settled in time`),
			DEADLINE_MS,
		);
		const before = [...(session?.answered ?? [])];
		try {
			const value = await this.#context.run(call, begin);
			call.outcome ??= "ok";
			if (!isRight(value))
				this.wrong(`${tag} ${tool} answered ${JSON.stringify(value)}`);
			if (session !== undefined) this.#remembered(session, call, value, before);
			return value;
		} catch (error) {
			this.#failed(call, error);
			throw error;
		} finally {
			clearTimeout(late);
			const { outcome = "none" } = call;
			this.endings[outcome] = (this.endings[outcome] ?? 0) + 1;
		}
	}

	/** Calls what makes the call, and takes its id from the event of that turn. */
	#noted<T>(call: CallRecord, begin: () => T): T {
		this.#observer.accepted = undefined;
		const begun = begin();
		call.callId ??= this.#observer.accepted;
		return begun;
	}

	/** @param before the calls of the session that were answered before this one was made. */
	#remembered(
		session: KnownSession,
		{ tag, tool, taken }: CallRecord,
		value: unknown,
		before: readonly string[],
	): void {
		const tags: readonly string[] = Array.isArray(value) ? value : [];
		const wrong = [
			...tags.filter((each) => !session.tags.has(each)),
			...(new Set(tags).size === tags.length ? [] : ["a tag twice"]),
			...(!Array.isArray(value) || tags.includes(tag) ? [] : ["not its own"]),
			...(Array.isArray(value) && session.affinity === "strict"
				? before
						.filter((each) => !tags.includes(each))
						.map((each) => `no ${each} any more`)
				: []),
		];
		for (const each of wrong) this.wrong(`${tag} ${tool} found ${each}`);
		if (Array.isArray(value) || taken > 0) session.answered.push(tag);
	}

	#failed(call: CallRecord, error: unknown): void {
		const about = `${call.tag} ${call.tool} (${call.callId})`;
		if (!(error instanceof SnakepitError)) {
			call.outcome = "foreign";
			this.wrong(
				`${about}: ${error instanceof Error ? error.stack : String(error)}`,
			);
			return;
		}
		const { code, ran, message } = error;
		call.outcome = code;
		call.ran = ran;
		const isAllowed =
			call.mayFail.includes(code) ||
			ENDS[code]?.(call, error, this.#chosen, this.pool);
		if (!isAllowed)
			this.wrong(`${about} must not end with ${code}: ${message}`);
	}

	async #consume(
		call: CallRecord,
		stream: AsyncIterableIterator<unknown>,
		items: number,
		take: (value: unknown) => void,
		abandon: () => void,
	): Promise<void> {
		const chance = this.#chance;
		const style = chance.pick(["loop", "loop", "slow", "several", "forgets"]);
		const wanted =
			chance.fraction() < 0.5
				? Number.POSITIVE_INFINITY
				: chance.below(items + 1);
		if (wanted === 0 && chance.fraction() < 0.3)
			return await this.#leave(call, stream);
		const first = this.#noted(call, () => stream.next());
		abandon();
		if (style === "several") await this.#readSeveral(call, stream, first, take);
		else {
			const step = await first;
			if (step.done) return;
			take(step.value);
		}
		if (style === "forgets") {
			await sleep(chance.pick([0, 50, 300]));
			return await this.#leave(call, stream);
		}
		const pauseMs = style === "slow" ? chance.pick([1, 10, 50]) : 0;
		for (;;) {
			if (call.taken >= wanted) return await this.#leave(call, stream);
			if (pauseMs > 0) await sleep(pauseMs);
			const step = await stream.next();
			if (step.done) return;
			take(step.value);
		}
	}

	async #leave(
		call: CallRecord,
		stream: AsyncIterableIterator<unknown>,
	): Promise<void> {
		call.outcome = "left";
		await stream.return?.();
		const after = await stream.next();
		if (!after.done) this.wrong(`${call.tag} goes on after it was left`);
	}

	/** Asks for several items before the first has come: they come in order, and the end or one error after them. */
	async #readSeveral(
		{ tag }: CallRecord,
		stream: AsyncIterableIterator<unknown>,
		first: Promise<IteratorResult<unknown>>,
		take: (value: unknown) => void,
	): Promise<void> {
		const asked = [first, ...Array.from({ length: 5 }, () => stream.next())];
		const steps = await Promise.allSettled(asked);
		const last = steps.findIndex(
			(step) => step.status === "rejected" || step.value.done,
		);
		for (const [index, step] of steps.entries()) {
			const after = last >= 0 && index > last;
			if (step.status === "rejected") {
				if (after) this.wrong(`${tag} failed twice`);
			} else if (!step.value.done) {
				if (after) this.wrong(`${tag}: an item after the end`);
				else take(step.value.value);
			}
		}
		const end = steps[last];
		if (end?.status === "rejected") throw end.reason;
	}

	#prepare(
		tool: string,
		{ mayFail, hangs, input, session }: Particular,
	): { readonly call: CallRecord; readonly abandon: () => void } {
		const chance = this.#chance;
		const abort = new AbortController();
		const aborts = chance.fraction() < (hangs === "yes" ? 0.6 : 0.3);
		const options: ExecuteOptions = {
			...(input === undefined ? {} : { input }),
			...(aborts ? { signal: abort.signal } : {}),
			...(chance.fraction() < 0.2 || (hangs === "yes" && !aborts)
				? { timeoutMs: 1 + chance.below(600) }
				: {}),
			...(chance.fraction() < 0.15
				? { queueTimeoutMs: chance.below(300) }
				: {}),
			...(chance.fraction() < 0.3 ? { priority: chance.below(3) - 1 } : {}),
			...(chance.fraction() < 0.3
				? { retry: { attempts: 2 + chance.below(2) } }
				: {}),
		};
		const giveUp = (): void => abort.abort(new Error("on purpose"));
		const abandon = (): void => {
			if (!aborts) return;
			const afterMs = chance.pick([0, 0, 1, 5, 30, 150, 400]);
			if (afterMs > 0) setTimeout(giveUp, afterMs);
			else if (chance.fraction() < 0.5) giveUp();
			else setImmediate(giveUp);
		};
		return { call: this.make(tool, options, mayFail, session), abandon };
	}
}

/** By tag: the processes in which calls began, once for each time, and how many items a stream produced, at most. */
function readJournal(path: string): {
	readonly begun: ReadonlyMap<string, readonly number[]>;
	readonly yielded: ReadonlyMap<string, number>;
} {
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
