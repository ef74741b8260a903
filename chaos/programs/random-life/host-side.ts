import { setTimeout as sleep } from "node:timers/promises";
import type {
	HostFunction,
	HostFunctionContext,
} from "@snakepit/adapter-grpc-python";
import type { Pool } from "@snakepit/core";
import type { Calls } from "./calls.ts";

/** The program's offer to tools: functions that answer, fail, hang and call the pool again, and input streams. */
export class HostSide {
	/** Functions and streams that began, and those of them that ended. */
	begun = 0;
	ended = 0;
	readonly #calls: Calls;
	readonly #pool: () => Pool;

	constructor(calls: Calls, pool: () => Pool) {
		this.#calls = calls;
		this.#pool = pool;
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
			again: (asked: unknown, context: HostFunctionContext) =>
				this.#callAgain(asked, context),
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
		let given = 0;
		let state: "fresh" | "open" | "closed" = "fresh";
		const closed = Promise.withResolvers<IteratorResult<number>>();
		const open = (): AsyncIterator<number> => {
			if (state !== "fresh") this.#calls.wrong("a source was opened twice");
			state = "open";
			this.begun++;
			return {
				next: async () =>
					given < 2 ? { done: false, value: given++ } : closed.promise,
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

	async #callAgain(
		asked: unknown,
		{ signal }: HostFunctionContext,
	): Promise<unknown> {
		const made = this.#calls.make("answer", { signal, timeoutMs: 1_500 });
		const { tag, options } = made;
		await this.#calls.watch(
			made,
			() =>
				this.#calls.noted(made, () =>
					this.#pool().execute("answer", { tag }, options),
				),
			(value) => value === tag,
		);
		return asked;
	}
}
