import { setTimeout as sleep } from "node:timers/promises";
import { crc32 } from "node:zlib";
import type {
	HostFunction,
	HostFunctionContext,
} from "@snakepit/adapter-grpc-python";
import type { SeededRandom } from "../../../packages/core/src/testing/virtual-pool.ts";
import type { Arguments, Calls, KnownSession, Particular } from "./calls.ts";

/** The program's offer to tools: functions that answer, fail, hang and call the pool again, and input streams. */
export class HostSide {
	/** Functions and streams that began, and those of them that ended. */
	begun = 0;
	ended = 0;
	readonly #calls: Calls;

	constructor(calls: Calls) {
		this.#calls = calls;
	}

	functions(): Readonly<Record<string, HostFunction>> {
		const all: Readonly<Record<string, HostFunction>> = {
			echo: (value: unknown) => value,
			later: async (ms: number) => {
				await sleep(ms);
				return ms;
			},
			throws: () => {
				throw Object.assign(new Error("on purpose"), { code: "ON_PURPOSE" });
			},
			odd: () => Symbol("cannot be sent"),
			hangs: (_: unknown, { signal }: HostFunctionContext) =>
				new Promise((_resolve, reject) => {
					signal.addEventListener("abort", () => reject(signal.reason));
				}),
			again: async (asked: unknown, { signal }: HostFunctionContext) => {
				const call = this.#calls.make("answer", { signal, timeoutMs: 1_500 });
				await this.#calls.execute(call, {}, same);
				return asked;
			},
		};
		return Object.fromEntries(
			Object.entries(all).map(([name, fn]) => [name, this.#counted(fn)]),
		);
	}

	/** Numbers from 0 on, with a pause before each, and an error at the end where it fails. */
	async *numbers(
		items: number,
		pauseMs: number,
		end: "ends" | "fails",
	): AsyncGenerator<number> {
		this.begun++;
		try {
			for (let each = 0; each < items; each++) {
				if (pauseMs > 0) await sleep(pauseMs);
				yield each;
			}
			if (end === "fails") throw new Error("the source failed on purpose");
		} finally {
			this.ended++;
		}
	}

	/** Two numbers, and then nothing until it is closed. */
	silent(): AsyncIterable<number> {
		let count = 0;
		let state: "fresh" | "open" | "closed" = "fresh";
		const closed = Promise.withResolvers<IteratorResult<number>>();
		const open = (): AsyncIterator<number> => {
			if (state !== "fresh") this.#calls.wrong("a source was opened twice");
			state = "open";
			this.begun++;
			return {
				next: async () =>
					count < 2 ? { done: false, value: count++ } : closed.promise,
				return: async () => {
					if (state !== "open") this.#calls.wrong("a source was closed twice");
					state = "closed";
					this.ended++;
					closed.resolve({ done: true, value: undefined });
					return { done: true, value: undefined };
				},
			};
		};
		return { [Symbol.asyncIterator]: open };
	}

	#counted(fn: HostFunction): HostFunction {
		return async (argument, context) => {
			this.begun++;
			const current = this.#calls.current?.callId;
			if (current !== context.callId)
				this.#calls.wrong(
					`a host function of ${context.callId} runs for ${current}`,
				);
			try {
				return await fn(argument, context);
			} finally {
				this.ended++;
			}
		};
	}
}

/** The behaviour of one kind of caller, and its share among the others. */
export type Kind = readonly [weight: number, make: () => Promise<void>];

const FAILS = { mayFail: ["TOOL_FAILED"] } as const;
const NOT_TRANSFERABLE = { mayFail: ["VALUE_NOT_TRANSFERABLE"] } as const;
const INVALID = { mayFail: ["INVALID_ARGUMENTS"] } as const;

const DISTURBANCES = [
	...["prints_elsewhere", "prints_much", "logs_much"],
	...["grows", "leaves_a_thread", "interrupts_itself"],
] as const;

const same = (value: unknown, tag: string): boolean => value === tag;
const never = (): boolean => false;
const index = (at: number): number => at;
const inOrder = (value: unknown, length: number): boolean =>
	Array.isArray(value) &&
	value.length === length &&
	value.every((each, at) => each === at);

/** Calls with one answer. */
function answers(calls: Calls, chance: SeededRandom): readonly Kind[] {
	const seconds = (most: number) => ({ seconds: chance.fraction() * most });
	const echo = (weight: number, tool: string, args?: () => Arguments): Kind => [
		weight,
		() => calls.answer(tool, args?.() ?? {}, same),
	];
	const ends = (
		weight: number,
		how: string,
		numbers: readonly number[],
		particular?: Particular,
	): Kind => [
		weight,
		() => {
			const args = { how, number: chance.pick(numbers) };
			const tool = chance.pick(["end", "end_async"]);
			return calls.answer(tool, args, never, particular);
		},
	];
	/** Sizes around that from which values are in shared memory. */
	const large = async () => {
		const bytes = new Uint8Array(chance.pick([1e3, 7e4, 3e5, 3e6]));
		for (let at = 0; at < bytes.length; at += 997)
			bytes[at] = chance.below(256);
		const args = { value: bytes, checksum: crc32(bytes) };
		const isSame = (value: unknown): boolean =>
			crc32(value as Uint8Array) === args.checksum;
		await calls.answer("large", args, isSame);
	};
	return [
		echo(6, "answer"),
		echo(4, "sleep", () => seconds(0.3)),
		echo(2, "spin", () => seconds(0.2)),
		echo(4, "sleep_async", () => seconds(0.3)),
		echo(1, "cling", () => ({ seconds: chance.pick([0.1, 0.5, 3]) })),
		echo(1, "block_the_loop", () => seconds(0.3)),
		echo(1, "clean_up", () => seconds(0.3)),
		echo(1, "clean_up_async", () => seconds(0.3)),
		echo(1, "spawn"),
		echo(1, "fork"),
		[1, large],
		echo(4, "disturb", () => ({ how: chance.pick(DISTURBANCES) })),
		ends(3, "raises", [0], FAILS),
		ends(2, "exits", [3], FAILS),
		ends(1, "kills itself", [6, 9, 11, 15]),
		ends(0.5, "vanishes", [0, 3]),
		[0.5, () => calls.answer("no_value", {}, never, NOT_TRANSFERABLE)],
		[0.5, () => calls.answer("sleep", { seconds: "long" }, never, INVALID)],
	];
}

/** Calls that stream, in or out. */
function streams(
	calls: Calls,
	chance: SeededRandom,
	hostSide: HostSide,
): readonly Kind[] {
	const countAndFail = async (how: string, particular: Particular) => {
		const items = chance.pick([0, 3, 50]);
		const args = { items, how };
		await calls.read("count_and_fail", args, items + 1, index, particular);
	};
	const collectAll = (particular: Particular) =>
		calls.answer("collect", { most: 1_000, pause: 0 }, never, particular);
	/** An input, and what to expect of a call that reads all of it. */
	const source = (sizes: readonly number[], pauseMs: number) => {
		const items = chance.pick(sizes);
		const end =
			chance.fraction() < 0.2 ? ("fails" as const) : ("ends" as const);
		const pauses = items < 100 ? chance.pick([0, 0, pauseMs]) : 0;
		return {
			...{ items, end },
			pause: items < 100 ? chance.pick([0, 0, 0.003]) : 0,
			particular: {
				input: hostSide.numbers(items, pauses, end),
				mayFail: end === "fails" ? FAILS.mayFail : [],
			},
		};
	};
	const count = async () => {
		const items = chance.pick([0, 1, 5, 40, 600]);
		const pause = items < 50 ? chance.pick([0, 0, 0.005]) : 0;
		const tool = chance.pick(["count", "count_async"]);
		await calls.read(tool, { items, pause }, items, index);
	};
	const collect = async () => {
		const sizes = [0, 1, 7, 16, 17, 60];
		const { items, end, pause, particular } = source(sizes, 2);
		const most = chance.fraction() < 0.2 ? 1 + chance.below(10) : 1_000;
		await calls.answer(
			chance.pick(["collect", "collect_async"]),
			{ most, pause },
			(value) =>
				inOrder(value, Math.min(most, items)) &&
				(end === "ends" || most <= items),
			particular,
		);
	};
	const relay = async () => {
		const sizes = [0, 1, 7, 17, 60, 200];
		const { items, end, pause, particular } = source(sizes, 3);
		// One that fails has no end that the consumer could count to.
		const wanted = end === "fails" ? items + 1 : items;
		const [tool, more] = chance.pick([
			["relay", {}],
			["relay_async", { asks: false }],
			["relay_async", { asks: true }],
		] as const);
		const args = { pause, ...more };
		await calls.read(tool, args, wanted, index, particular);
	};
	return [
		[5, count],
		[2, () => countAndFail("raises", FAILS)],
		[0.5, () => countAndFail("no value", NOT_TRANSFERABLE)],
		[4, collect],
		[5, relay],
		[
			1,
			() =>
				collectAll({
					input: [0, 1, Symbol("not transferable")],
					...NOT_TRANSFERABLE,
				}),
		],
		[1, () => collectAll({ input: [0, 1, "two"], ...INVALID })],
		[1, () => collectAll({ input: hostSide.silent(), hangs: "yes" })],
	];
}

/** Calls whose tools ask the host. */
function backCalls(calls: Calls, chance: SeededRandom): readonly Kind[] {
	const ask = (
		weight: number,
		name: string,
		argument: number,
		isRight: (value: unknown) => boolean,
		particular?: Particular,
	): Kind => [
		weight,
		() =>
			calls.answer(
				chance.pick(["ask", "ask_async"]),
				{ function: name, argument },
				isRight,
				particular,
			),
	];
	return [
		ask(3, "echo", 7, (value) => value === 7),
		ask(2, "later", 40, (value) => value === 40),
		ask(0.5, "throws", 1, never, FAILS),
		ask(0.5, "odd", 1, never, FAILS),
		ask(0.5, "unknown", 1, never, FAILS),
		ask(2, "hangs", 1, never, { hangs: "yes" }),
		ask(2, "again", 5, (value) => value === 5, FAILS),
		[
			1,
			() => calls.answer("ask_many", { times: 20 }, (all) => inOrder(all, 20)),
		],
		[1, () => calls.read("ask_and_count", { items: 10 }, 10, index)],
		[0.5, () => calls.answer("ask_in_clean_up", { seconds: 0.2 }, same)],
	];
}

/** Calls that share state. */
function sessionCalls(
	calls: Calls,
	chance: SeededRandom,
	session: () => KnownSession | undefined,
): readonly Kind[] {
	const within =
		(make: (particular: Particular) => Promise<void>) =>
		async (): Promise<void> => {
			const open = session();
			if (open !== undefined) await make({ session: open });
		};
	const remember = (tool: string): Kind => [
		4,
		within((particular) => {
			const args = { seconds: chance.pick([0, 0, 0.05]) };
			return calls.answer(tool, args, Array.isArray, particular);
		}),
	];
	return [
		remember("remember"),
		remember("remember_async"),
		[
			2,
			within((particular) =>
				calls.read(
					"remember_stream",
					{ items: 4 },
					4,
					(_, tag) => tag,
					particular,
				),
			),
		],
	];
}

/**
 * Every kind of caller.
 *
 * @param session one that is open, if there can be one.
 */
export function kindsOf(
	calls: Calls,
	chance: SeededRandom,
	hostSide: HostSide,
	session: () => KnownSession | undefined,
): readonly Kind[] {
	return [
		...answers(calls, chance),
		...streams(calls, chance, hostSide),
		...backCalls(calls, chance),
		...sessionCalls(calls, chance, session),
	];
}
