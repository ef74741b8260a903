import { AsyncLocalStorage } from "node:async_hooks";
import {
	InputError,
	type PoolOptions,
	ToolError,
	WorkerLostError,
} from "@snakepit/core";
import { expect, test } from "vitest";
import { testPool } from "../../../../scripts/test-pool.ts";
import { type PythonOptions, python } from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import { PYTHON, toolsFile } from "../support/pythons.ts";

/** A pool of workers with the tools of bench.py; closed when the test is finished. */
async function open(
	options: Partial<PythonOptions> = {},
	pool: Partial<PoolOptions> = {},
) {
	const adapter = python({
		tools: toolsFile("bench.py"),
		python: PYTHON,
		...options,
	});
	return { adapter, ...(await testPool({ adapter, ...pool })) };
}

test("which Python was chosen, and why, is an event", async () => {
	const { events } = await open();
	expect(events.events).toContainEqual(
		expect.objectContaining({
			type: "pool.adapter_noted",
			adapter: "python",
			note: expect.stringMatching(
				/Python 3\.\d+\.\d+ at .*python.*option "python"/,
			),
		}),
	);
});

test("an environment is made when the pool starts, and its failure is the pool's", async () => {
	let made = 0;
	const environment = {
		make: async () => {
			made++;
			return { python: PYTHON, directory: "/env", key: "k", reused: true };
		},
	};
	const adapter = python({ tools: toolsFile("bench.py"), environment });
	expect(made).toBe(0);
	const { events } = await open({}, { adapter });
	expect(made).toBe(1);
	expect(JSON.stringify(events.events)).toContain("it is the environment /env");
	const failing = python({
		tools: toolsFile("bench.py"),
		environment: { make: () => Promise.reject(new Error("no pip")) },
	});
	expect(await failureOf(open({}, { adapter: failing }))).toMatchObject({
		message: expect.stringContaining("no pip"),
	});
});

test("what is wrong with a call reaches its caller as it is", async () => {
	const { pool } = await open({
		sharedMemory: "off",
		maxMessageBytes: 1024 * 1024,
	});
	const unknown = await failureOf(pool.execute("subtract"));
	expect(unknown).toBeInstanceOf(InputError);
	expect(unknown).toMatchObject({ code: "TOOL_NOT_FOUND", ran: "no" });
	expect(await failureOf(pool.execute("add", { a: "1" }))).toMatchObject({
		code: "INVALID_ARGUMENTS",
		path: "$.a",
	});
	expect(
		await failureOf(pool.execute("echo", { value: Symbol("x") })),
	).toMatchObject({ code: "VALUE_NOT_TRANSFERABLE", path: "$.value" });
	expect(
		await failureOf(pool.execute("echo", { value: new Uint8Array(2_000_000) })),
	).toMatchObject({ code: "MESSAGE_TOO_LARGE", ran: "no" });
	expect(
		await failureOf(pool.execute("large", { size: 2_000_000 })),
	).toMatchObject({ code: "RESULT_TOO_LARGE" });
	const failed = await failureOf(pool.execute("fail"));
	expect(failed).toBeInstanceOf(ToolError);
	expect((failed as ToolError).remote.traceback).toContain("bench.py");
	expect(pool.statistics().workers).toBeDefined();
	expect(await pool.execute("add", { a: 1 })).toBe(2);
});

test("a worker that dies under a call is replaced, and the call says so with its last lines", async () => {
	const { pool } = await open();
	const lost = await failureOf(pool.execute("die"));
	expect(lost).toBeInstanceOf(WorkerLostError);
	expect(lost).toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
	expect(String(lost)).toContain("dying on purpose");
	expect(await pool.execute("add", { a: 1 })).toBe(2);
});

test("a deadline frees the worker, and the next call runs on it", async () => {
	const { pool } = await open();
	const pid = pool.workers()[0]?.pid;
	expect(
		await failureOf(pool.execute("hang", {}, { timeoutMs: 100 })),
	).toMatchObject({ code: "CALL_TIMEOUT", ran: "maybe" });
	expect(await pool.execute("add", { a: 1 })).toBe(2);
	expect(pool.workers()[0]?.pid).toBe(pid);
});

test("the caller's asynchronous context holds in back-calls and input streams", async () => {
	const store = new AsyncLocalStorage<string>();
	const { pool } = await open({
		hostFunctions: { whoAsks: () => store.getStore() },
	});
	async function* input() {
		yield store.getStore();
	}
	const seen = ["a", "b", "c"].map((name) =>
		store.run(name, async () => [
			await pool.execute("ask", ["whoAsks"]),
			await pool.execute("collect", {}, { input: input() }),
		]),
	);
	expect(await Promise.all(seen)).toEqual([
		["a", ["a"]],
		["b", ["b"]],
		["c", ["c"]],
	]);
});

test("records of Python's logging are events", async () => {
	const { pool, events } = await open();
	await pool.execute("log_something");
	expect(events.events).toContainEqual(
		expect.objectContaining({
			type: "worker.logged",
			record: expect.objectContaining({
				level: "warning",
				message: "only 3 left",
			}),
		}),
	);
});

test("a running worker says what its tools are", async () => {
	const { adapter, pool } = await open();
	const tools = await adapter.describe();
	expect(tools.find(({ name }) => name === "add")).toMatchObject({
		shape: "unary",
		readsInput: false,
		argumentsSchema: {
			properties: { a: { type: "integer" } },
			required: ["a"],
		},
		resultSchema: { type: "integer" },
	});
	expect(tools.find(({ name }) => name === "doubled")).toMatchObject({
		shape: "stream",
		readsInput: true,
	});
	await pool.close();
	expect(await failureOf(adapter.describe())).toMatchObject({
		code: "CONNECTION_BROKEN",
		ran: "no",
	});
});
