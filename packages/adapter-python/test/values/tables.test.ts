import { createRequire, Module } from "node:module";
import { InputError } from "@snakepit/core";
import { Table, tableFromArrays, tableToIPC } from "apache-arrow";
import { expect, onTestFinished, test } from "vitest";
import { decodeValue, encodeValue } from "../../src/index.ts";
import { Attachment } from "../../src/shared-memory/shared-memory.ts";

const require = createRequire(import.meta.url);
const columns = { n: new Int32Array([1, 2, 3]), word: ["a", "b", "a"] };
const rows = (table: unknown): unknown =>
	(table as Table).toArray().map((row) => JSON.parse(String(row)));
const ROWS = rows(tableFromArrays(columns));

test("a table comes back, as one of the copy of apache-arrow that the program imports", () => {
	const { inside } = decodeValue(
		encodeValue({ inside: tableFromArrays(columns) }),
	) as { inside: object };
	expect(Object.getPrototypeOf(inside)).toBe(Table.prototype);
	expect(rows(inside)).toEqual(ROWS);
});

test("a record batch arrives as a table", () => {
	const [batch] = tableFromArrays(columns).batches;
	expect(rows(decodeValue(encodeValue(batch)))).toEqual(ROWS);
});

test("a large table lies in the attachment, and is read there", () => {
	const many = { n: new Float64Array(100_000).fill(0.5) };
	const sink = new Attachment(1024);
	const encoded = encodeValue([1, tableFromArrays(many)], { attachment: sink });
	expect(encoded.length).toBeLessThan(100);
	const [, table] = decodeValue(encoded, Buffer.concat(sink.parts)) as Table[];
	expect(table?.getChild("n")?.toArray()).toEqual(many.n);
});

test("a table of the copy that programs require is written by that copy", () => {
	const required = require("apache-arrow");
	expect(required.Table).not.toBe(Table);
	// The types of its columns are those of its own copy only.
	const table = required.tableFromArrays(columns);
	const back = decodeValue(encodeValue(table)) as object;
	expect(rows(back)).toEqual(ROWS);
	expect(Object.getPrototypeOf(back)).toBe(required.Table.prototype);
	delete require.cache[require.resolve("apache-arrow")];
});

test("a table of an unknown copy is refused with the remedy", () => {
	class Stranger {}
	Object.assign(Stranger.prototype, {
		[Symbol.for("apache-arrow/Table")]: true,
	});
	expect(() => encodeValue([new Stranger()])).toThrow(
		/^\$\[0\] is a table of another copy of apache-arrow.*tableToIPC\(table\)/,
	);
});

test("without apache-arrow a table is an error that says what to install", () => {
	const encoded = encodeValue(tableFromArrays(columns));
	const loader = Module as unknown as {
		_resolveFilename(name: string, ...rest: unknown[]): string;
	};
	const resolve = loader._resolveFilename;
	loader._resolveFilename = (name, ...rest) => {
		if (name === "apache-arrow") throw new Error("not installed");
		return resolve.call(loader, name, ...rest);
	};
	onTestFinished(() => {
		loader._resolveFilename = resolve;
	});
	expect(() => decodeValue(encoded)).toThrow(
		expect.objectContaining({
			code: "VALUE_NOT_TRANSFERABLE",
			message: expect.stringContaining("npm install apache-arrow"),
		}),
	);
});

test("bytes that are no table are an error", () => {
	const ipc = tableToIPC(tableFromArrays(columns));
	for (const bytes of [new Uint8Array([1, 2, 3]), ipc.slice(0, 150)]) {
		const encoded = Buffer.concat([
			Buffer.from([0xc7, 0, 2]),
			encodeValue(bytes),
		]);
		encoded[1] = encoded.length - 3;
		expect(() => decodeValue(encoded)).toThrow(InputError);
	}
	expect(() => decodeValue(new Uint8Array([0xd4, 2, 1]))).toThrow(InputError);
});
