import { type PoolSession, ToolError } from "@snakepit/core";
import { expect, expectTypeOf, test } from "vitest";
import { Handle, importModule } from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import { type Counter, handlePool, refused } from "./handle-pool.ts";

interface Shift {
	shift(by: number): number;
}

const here = handlePool();
const { open, strict } = here;

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

test("a text is no target, and no text that is formatted reads a private name", async () => {
	using session = strict();
	const counter = await session.execute("counter");
	const untyped = session as unknown as PoolSession;
	const text = "{0.__class__}";
	const args = [text, "format", [counter], {}];
	for (const tool of ["snakepit.call", "snakepit.keep"]) {
		const error = await failureOf(untyped.execute(tool, args));
		expect(error).toEqual(refused("HANDLE_REFUSED", /was sent as a value/));
		expect(error).toMatchObject({ ran: "no" });
	}
	const json = await importModule(session, "json");
	const decoder = await json.keep("loads", [JSON.stringify(text)]);
	expect(await failureOf(decoder.call("format", [counter]))).toEqual(
		refused("HANDLE_REFUSED", /format\(\) of text/),
	);
});

test("a handle outside of a strict session is refused", async () => {
	expect(await failureOf(here.pool.execute("counter"))).toEqual(
		refused("HANDLE_REFUSED", /needs a session that allows it/),
	);
	using hint = here.pool.session();
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
		refused("VALUE_NOT_TRANSFERABLE", /its result: \$ has the type .*Counter/),
	);
	expect(await session.execute("sqrt", [9])).toBe(3);
	const space = await session.execute("SimpleNamespace", { a: 1 });
	expect(await space.get("a")).toBe(1);
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
