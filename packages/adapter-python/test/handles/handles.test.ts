import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	createPool,
	InputError,
	type Pool,
	type PoolSession,
	ToolError,
	WorkerLostError,
} from "@snakepit/core";
import { afterAll, beforeAll, expect, expectTypeOf, test } from "vitest";
import {
	Handle,
	importModule,
	type PythonOptions,
	python,
} from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import { PYTHON, toolsFile } from "../support/pythons.ts";

interface Counter {
	add(n?: number): number;
	copy(): Handle<Counter>;
	readonly count: number;
}

interface Shift {
	shift(by: number): number;
}

interface Tools {
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

const open = (options: Partial<PythonOptions>, size: number) =>
	createPool<Tools>({
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
		dataDir,
		output: { echo: "none" },
	});

const dataDir = mkdtempSync(join(tmpdir(), "snp-"));
let pool: Pool<Tools>;
beforeAll(async () => {
	const handles = { imports: ["json", "collections"], limit: 8 };
	pool = await open({ handles }, 2);
});
afterAll(async () => {
	await pool.close();
	rmSync(dataDir, { recursive: true, force: true });
});

const strict = (): PoolSession<Tools> => pool.session({ affinity: "strict" });

const refused = (code: string, message: RegExp) =>
	expect.objectContaining({
		constructor: InputError,
		code,
		message: expect.stringMatching(message),
	});

test("an object stays in the worker, and is an argument of later calls", async () => {
	using session = strict();
	const counter = await session.execute("counter", { start: 2 });
	expect(counter).toBeInstanceOf(Handle);
	expect(counter.type).toBe("handles.Counter");
	expect(await counter.call("add")).toBe(3);
	expect(await counter.call("add", [4])).toBe(7);
	expect(await counter.call("add", [], { n: 3 })).toBe(10);
	expect(await counter.get("count")).toBe(10);
	const copy = await counter.call("copy");
	await copy.call("add");
	expect(await session.execute("total", { of: [counter, copy] })).toBe(21);
	expect(await (counter as Handle).item("a")).toBe("a".repeat(10));
	const later = await (counter as Handle).call("later");
	expect(later.type).toBe("coroutine");
	expect(await later.awaited()).toBe(10);
	expectTypeOf(counter.get("count")).toEqualTypeOf<Promise<number>>();
	expectTypeOf(counter.call("copy")).toEqualTypeOf<Promise<Handle<Counter>>>();
	expectTypeOf(counter.keep("add")).toEqualTypeOf<Promise<Handle<number>>>();
	// @ts-expect-error it has no such method
	expect(await failureOf(counter.call("ad"))).toMatchObject({
		constructor: ToolError,
		message: expect.stringMatching(/did you mean 'add'/),
	});
});

test("a required parameter can be given by name", async () => {
	using session = strict();
	const point = (await session.execute("counter")) as Handle as Handle<Shift>;
	expect(await point.call("shift", [], { by: 3 })).toBe(3);
	expect(await point.call("shift", [4])).toBe(7);
	expect(await (await point.keep("shift", [], { by: 1 })).value()).toBe(8);
	// @ts-expect-error a required parameter is missing
	expect(await failureOf(point.call("shift"))).toBeInstanceOf(ToolError);
});

test("arguments in another form are refused with the right one", async () => {
	using session = strict();
	const counter: Handle = await session.execute("counter");
	const form = /call\(name, \[args\], \{ name: value \}\)/;
	for (const given of [1, { n: 1 }, "a", null] as never[]) {
		const error = await failureOf(counter.call("add", given));
		expect(error).toEqual(refused("INVALID_ARGUMENTS", form));
		expect(error).toMatchObject({ ran: "no" });
	}
	const named = await failureOf(counter.call("add", [], [1] as never));
	expect(named).toEqual(refused("INVALID_ARGUMENTS", form));
	expect(await failureOf(counter.keep("add", 1 as never))).toEqual(
		refused("INVALID_ARGUMENTS", /keep\(name, /),
	);
	expect(await failureOf(counter.invoke({ n: 1 } as never))).toEqual(
		refused("INVALID_ARGUMENTS", /invoke\(\[args\], /),
	);
});

test("chunks of a stream are handles, too", async () => {
	using session = strict();
	const made: Handle<Counter>[] = [];
	for await (const each of session.stream("counters", { starts: [1, 2] }))
		made.push(each);
	expect(await session.execute("total", { of: made })).toBe(3);
});

test("a module that is listed is imported; what it returns is a value or a handle", async () => {
	using session = strict();
	const json = await importModule(session, "json");
	expect(await json.call("dumps", [{ a: 1 }])).toBe('{"a": 1}');
	const collections = await importModule(session, "collections");
	await using queue = await collections.keep("deque", [[1, 2, 3]]);
	const items: number[] = [];
	for await (const item of queue.iterate()) items.push(item);
	expect(items).toEqual([1, 2, 3]);
	const text = await json.keep("dumps", [[1]]);
	expect(await text.value()).toBe("[1]");
	const decoder = await json.get("JSONDecoder");
	expect((await decoder.invoke([], { strict: false })).type).toBe(
		"json.decoder.JSONDecoder",
	);
});

test("what leads to the interpreter is refused before it runs", async () => {
	using session = strict();
	const os = await failureOf(importModule(session, "os"));
	expect(os).toEqual(
		refused("HANDLE_REFUSED", /"snakepit.import".*'os' is not among/),
	);
	expect(os).toMatchObject({ ran: "no" });
	const json = await importModule(session, "json");
	for (const refusal of [json.get("__loader__"), json.call("_hidden")]) {
		const error = await failureOf(refusal);
		expect(error).toEqual(
			refused("HANDLE_REFUSED", /begins with an underscore/),
		);
		expect(error).toMatchObject({ ran: "no" });
	}
	const decoder = await json.get("decoder");
	expect(await failureOf(decoder.get("re"))).toEqual(
		refused("HANDLE_REFUSED", /'re' is not among handles.imports/),
	);
});

test("a released handle is of no use, and its object is gone", async () => {
	using session = strict();
	const counter = await session.execute("counter", { start: 1234 });
	expect(await session.execute("alive")).toContain(1234);
	await counter.release();
	await counter.release();
	expect(await session.execute("alive")).not.toContain(1234);
	expect(await failureOf(counter.call("add"))).toEqual(
		refused("HANDLE_INVALID", /was released/),
	);
	expect(await failureOf(session.execute("total", { of: [counter] }))).toEqual(
		refused("HANDLE_INVALID", /"total".*it was released, or/),
	);
	{
		await using other = await session.execute("counter", { start: 99 });
		expect(await other.get("count")).toBe(99);
	}
	expect(await session.execute("alive")).not.toContain(99);
});

test("a handle of another session and a forged one are refused with ran: no", async () => {
	using session = strict();
	using other = strict();
	const counter = await session.execute("counter");
	const error = await failureOf(other.execute("total", { of: [counter] }));
	expect(error).toEqual(refused("HANDLE_INVALID", /from another session/));
	expect(error).toMatchObject({ ran: "no" });
	const forged = new Handle<Counter>(new Uint8Array(16), "x", undefined);
	expect(await failureOf(session.execute("total", { of: [forged] }))).toEqual(
		refused("HANDLE_INVALID", /holds no such object/),
	);
	expect(await failureOf(pool.execute("total", { of: [counter] }))).toEqual(
		refused("HANDLE_INVALID", /belongs to no session/),
	);
});

test("an object that was made for a caller who left is released", async () => {
	using session = strict();
	const leave = new AbortController();
	const options = { signal: leave.signal, onProgress: () => leave.abort() };
	const call = session.execute("counter_nevertheless", { start: 77 }, options);
	expect(await failureOf(call)).toMatchObject({ code: "CALL_ABORTED" });
	const chunks = session.stream("counters_nevertheless", { start: 80 });
	const { value: first } = await chunks.next();
	await chunks.return?.();
	let alive: number[];
	do alive = await session.execute("alive");
	while (alive.some((count) => count === 77 || count > 80));
	expect(alive).toContain(80);
	const made = await session.execute("made");
	expect(made).toEqual(expect.arrayContaining([77, 80, 81]));
	expect(await (first as Handle<Counter>).get("count")).toBe(80);
});

test("a session holds no more objects than the limit", async () => {
	using session = strict();
	const made: Handle[] = [];
	for (let i = 0; i < 8; i++) made.push(await session.execute("counter"));
	expect(await failureOf(session.execute("counter"))).toEqual(
		refused("HANDLE_REFUSED", /holds 8 objects \(handles.limit\)/),
	);
	await made[0]?.release();
	await session.execute("counter");
});

test("the end of a session ends its objects, in the thread of the tools", async () => {
	const session = strict();
	const counter = await session.execute("counter", { start: 4321 });
	const { incarnation } = session;
	session.close();
	expect(await failureOf(counter.call("add"))).toMatchObject({
		code: "SESSION_CLOSED",
	});
	await counter.release();
	// The same worker, after it was told of the end.
	for (let other = strict(); ; other = strict()) {
		using asked = other;
		const alive = await asked.execute("alive");
		if (asked.incarnation !== incarnation) continue;
		expect(alive).not.toContain(4321);
		expect(await asked.execute("ended_in_main")).toBe(true);
		break;
	}
});

test("a handle outside of a strict session is refused", async () => {
	expect(await failureOf(pool.execute("counter"))).toEqual(
		refused("HANDLE_REFUSED", /needs a session that allows it/),
	);
	using hint = pool.session();
	expect(await failureOf(hint.execute("counter"))).toEqual(
		refused("HANDLE_REFUSED", /affinity: "strict"/),
	);
	expect(await failureOf(hint.execute("counter"))).toMatchObject({ ran: "no" });
	const error = await failureOf(importModule(hint, "json"));
	expect(error).toEqual(refused("HANDLE_REFUSED", /affinity: "strict"/));
	expect(error).toMatchObject({ ran: "no" });
});

test("a tool without the annotation gives none, an exposed function does", async () => {
	using session = strict();
	expect(await failureOf(session.execute("no_handle"))).toEqual(
		refused("VALUE_NOT_TRANSFERABLE", /Counter/),
	);
	expect(await session.execute("sqrt", [9])).toBe(3);
	const space = await session.execute("SimpleNamespace", { a: 1 });
	expect(await space.get("a")).toBe(1);
});

test("the death of a worker ends its objects with the session's own error", async () => {
	using session = strict();
	const counter = await session.execute("counter");
	const worker = pool
		.workers()
		.find(({ incarnation }) => incarnation === session.incarnation);
	process.kill(worker?.pid as number, "SIGKILL");
	const error = await failureOf(counter.call("add"));
	expect(error).toBeInstanceOf(WorkerLostError);
	expect(await failureOf(counter.get("count"))).toMatchObject({
		code: "SESSION_LOST",
		ran: "no",
	});
	await counter.release();
});

test("without the option there are no handles", async () => {
	await using closed = await open({}, 1);
	using session = closed.session({ affinity: "strict" });
	expect(await failureOf(session.execute("counter"))).toEqual(
		refused("HANDLE_REFUSED", /the option handles/),
	);
	expect(await failureOf(importModule(session, "json"))).toEqual(
		refused("HANDLE_REFUSED", /does not allow 'snakepit.import'/),
	);
	expect(await failureOf(session.execute("SimpleNamespace", { a: 1 }))).toEqual(
		refused("VALUE_NOT_TRANSFERABLE", /SimpleNamespace/),
	);
});
