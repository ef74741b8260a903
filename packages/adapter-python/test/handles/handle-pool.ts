import {
	createPool,
	InputError,
	type Pool,
	type PoolSession,
} from "@snakepit/core";
import { afterAll, beforeAll, expect } from "vitest";
import { dataDirectory } from "../../../../scripts/test-data-directory.ts";
import { type Handle, type PythonOptions, python } from "../../src/index.ts";
import { PYTHON, toolsFile } from "../support/pythons.ts";

export interface Counter {
	add(n?: number): number;
	copy(): Handle<Counter>;
	readonly count: number;
}

export interface HandleTools {
	counter(args?: { start?: number }): Handle<Counter>;
	counters(args: { starts: number[] }): AsyncIterable<Handle<Counter>>;
	total(args: { of: readonly Handle<Counter>[] }): number;
	counter_nevertheless(args: { start: number }): Handle<Counter>;
	counters_nevertheless(args: {
		start: number;
	}): AsyncIterable<Handle<Counter>>;
	no_handle(): unknown;
	alive(): number[];
	made(): number[];
	ended_in_main(): boolean;
	sqrt(args: readonly [number]): number;
	SimpleNamespace(args: { a: number }): Handle;
}

/** What a file of tests shares, from before its first test until after its last. */
export interface HandlePool {
	/** Two workers whose sessions hold eight objects at most. */
	readonly pool: Pool<HandleTools>;
	/** A session in which there are handles. */
	strict(): PoolSession<HandleTools>;
	/** Another pool, for the test to close. */
	open(
		options: Partial<PythonOptions>,
		size: number,
	): Promise<Pool<HandleTools>>;
}

/** Has the pool made before the tests of a file, and closed after them. */
export function handlePool(): HandlePool {
	const open = (options: Partial<PythonOptions>, size: number) =>
		createPool<HandleTools>({
			adapter: python({
				tools: [
					{ file: toolsFile("handles.py") },
					{ module: "math", expose: ["sqrt"] },
					{ module: "types", expose: ["SimpleNamespace"] },
				],
				python: PYTHON,
				...options,
			}),
			size,
			dataDir: dataDirectory(),
			output: { echo: "none" },
		});
	let pool: Pool<HandleTools>;
	beforeAll(async () => {
		const handles = { imports: ["json", "collections"], limit: 8 };
		pool = await open({ handles }, 2);
	});
	afterAll(() => pool.close());
	return {
		get pool() {
			return pool;
		},
		strict: () => pool.session({ affinity: "strict" }),
		open,
	};
}

/** An error of input with this code, whose message matches. */
export const refused = (code: string, message: RegExp): unknown =>
	expect.objectContaining({
		constructor: InputError,
		code,
		message: expect.stringMatching(message),
	});
