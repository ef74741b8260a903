import { setTimeout as sleep } from "node:timers/promises";
import type { ExecuteOptions, Pool } from "@snakepit/core";
import type { Chance } from "../chance.ts";
import type { CallRecord, Calls, KnownSession } from "./calls.ts";

/** What is special about one call. */
export interface Particular {
	readonly mayFail?: readonly string[];
	/** It does not end by itself. */
	readonly hangs?: "yes";
	readonly input?: AsyncIterable<unknown> | Iterable<unknown>;
	readonly session?: KnownSession | undefined;
}
export type Arguments = Readonly<Record<string, unknown>>;

/** Makes calls: some are aborted, some leave their stream early, some stop reading it. */
export class Callers {
	readonly #calls: Calls;
	readonly #chance: Chance;
	readonly #pool: Pool;

	constructor(calls: Calls, chance: Chance, pool: Pool) {
		this.#calls = calls;
		this.#chance = chance;
		this.#pool = pool;
	}

	async answer(
		tool: string,
		args: Arguments,
		isRight: (value: unknown, tag: string) => boolean,
		particular: Particular = {},
	): Promise<void> {
		const { record, taker, impatience } = this.#prepare(tool, particular);
		const { tag, options } = record;
		const before = this.#chance.of(0.1);
		if (before) impatience();
		const over = this.#calls.watch(
			record,
			() =>
				this.#calls.noted(record, () =>
					taker.execute(tool, { tag, ...args }, options),
				),
			(value) => isRight(value, tag),
		);
		if (!before) impatience();
		await over.catch(() => {});
	}

	async read(
		tool: string,
		args: Arguments,
		items: number,
		expected: (index: number, tag: string) => unknown,
		particular: Particular = {},
	): Promise<void> {
		const { record, taker, impatience } = this.#prepare(tool, particular);
		const { tag, options } = record;
		const take = (value: unknown): void => {
			if (value !== expected(record.taken, tag))
				this.#calls.wrong(
					`${tag} ${tool}: item ${record.taken} is ${JSON.stringify(value)}`,
				);
			record.taken++;
		};
		await this.#calls
			.watch(
				record,
				// Made here: it begins in the context of the call that makes it.
				() => {
					const stream = taker.stream(tool, { tag, ...args }, options);
					return this.#consume(record, stream, items, take, impatience);
				},
				() => record.outcome === "left" || record.taken === items,
			)
			.catch(() => {});
	}

	async #consume(
		record: CallRecord,
		stream: AsyncIterableIterator<unknown>,
		items: number,
		take: (value: unknown) => void,
		impatience: () => void,
	): Promise<void> {
		const chance = this.#chance;
		const style = chance.pick(["loop", "loop", "slow", "several", "forgets"]);
		const wanted = chance.of(0.5)
			? Number.POSITIVE_INFINITY
			: chance.below(items + 1);
		if (wanted === 0 && chance.of(0.3))
			return await this.#leave(record, stream);
		const first = this.#calls.noted(record, () => stream.next());
		impatience();
		if (style === "several")
			await this.#readSeveral(record, stream, first, take);
		else {
			const step = await first;
			if (step.done) return;
			take(step.value);
		}
		if (style === "forgets") {
			await sleep(chance.pick([0, 50, 300]));
			return await this.#leave(record, stream);
		}
		const pauseMs = style === "slow" ? chance.pick([1, 10, 50]) : 0;
		for (;;) {
			if (record.taken >= wanted) return await this.#leave(record, stream);
			if (pauseMs > 0) await sleep(pauseMs);
			const step = await stream.next();
			if (step.done) return;
			take(step.value);
		}
	}

	async #leave(
		record: CallRecord,
		stream: AsyncIterableIterator<unknown>,
	): Promise<void> {
		record.outcome = "left";
		await stream.return?.();
		const after = await stream.next();
		if (!after.done)
			this.#calls.wrong(`${record.tag} goes on after it was left`);
	}

	/** Asks for several items at once: they come in order, and the end or one error after them. */
	async #readSeveral(
		record: CallRecord,
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
				if (after) this.#calls.wrong(`${record.tag} failed twice`);
			} else if (!step.value.done) {
				if (after) this.#calls.wrong(`${record.tag}: an item after the end`);
				else take(step.value.value);
			}
		}
		const end = steps[last];
		if (end?.status === "rejected") throw end.reason;
	}

	#prepare(tool: string, { mayFail, hangs, input, session }: Particular) {
		const chance = this.#chance;
		const abort = new AbortController();
		const aborts = chance.of(hangs === "yes" ? 0.6 : 0.3);
		const options: ExecuteOptions = {
			...(input === undefined ? {} : { input }),
			...(aborts ? { signal: abort.signal } : {}),
			...(chance.of(0.2) || (hangs === "yes" && !aborts)
				? { timeoutMs: 1 + chance.below(600) }
				: {}),
			...(chance.of(0.15) ? { queueTimeoutMs: chance.below(300) } : {}),
			...(chance.of(0.3) ? { priority: chance.below(3) - 1 } : {}),
			...(chance.of(0.3) ? { retry: { attempts: 2 + chance.below(2) } } : {}),
		};
		const give = (): void => abort.abort(new Error("on purpose"));
		const impatience = (): void => {
			if (!aborts) return;
			const afterMs = chance.pick([0, 0, 1, 5, 30, 150, 400]);
			if (afterMs > 0) setTimeout(give, afterMs);
			else if (chance.of(0.5)) give();
			else setImmediate(give);
		};
		const record = this.#calls.make(tool, options, mayFail, session);
		return { record, taker: session?.session ?? this.#pool, impatience };
	}
}
