import { setTimeout as sleep } from "node:timers/promises";
import type {
	HostFunction,
	HostFunctionContext,
} from "@snakepit/adapter-grpc-python";
import type { Pool } from "@snakepit/core";
import type { Calls } from "./calls.ts";

/** What tools ask of the host: functions that answer, fail, hang, and call the pool again. */
export class HostSide {
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
			odd: () => Symbol("has no image"),
			hangs: (_: unknown, { signal }: HostFunctionContext) =>
				new Promise((_resolve, reject) => {
					signal.addEventListener("abort", () => reject(signal.reason));
				}),
			again: (asked: unknown, context: HostFunctionContext) =>
				this.#callAgain(asked, context),
		};
		return Object.fromEntries(
			Object.entries(all).map(([name, fn]) => [name, this.#seen(fn)]),
		);
	}

	#seen(fn: HostFunction): HostFunction {
		return async (argument, context) => {
			this.begun++;
			if (this.#calls.current?.callId !== context.callId)
				this.#calls.wrong(
					`a host function of ${context.callId} runs for ${this.#calls.current?.callId}`,
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
		const { tag } = made;
		await this.#calls.watch(
			made,
			() =>
				this.#calls.noted(made, () =>
					this.#pool().execute("answer", { tag }, made.options),
				),
			(value) => value === tag,
		);
		return asked;
	}
}
