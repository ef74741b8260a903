import { cpSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import * as adapter from "../../src/index.ts";

const PACKAGE = join(import.meta.dirname, "../..");
type Adapter = typeof adapter;

/** The same sources in another directory: other modules, other classes. */
let second: Adapter;
let copy: string;
beforeAll(async () => {
	copy = mkdtempSync(join(tmpdir(), "snakepit-copy-"));
	cpSync(join(PACKAGE, "src"), join(copy, "src"), { recursive: true });
	cpSync(join(PACKAGE, "package.json"), join(copy, "package.json"));
	symlinkSync(join(PACKAGE, "node_modules"), join(copy, "node_modules"));
	second = await import(pathToFileURL(join(copy, "src/index.ts")).href);
});
afterAll(() => removeDirectory(copy));

/** One value of each class that stands for one of Python's. */
const MAKERS: Readonly<Record<string, (from: Adapter) => object>> = {
	Float: (from) => new from.Float(1),
	NdArray: (from) => from.NdArray.from(new Float32Array([1, 2])),
	PlainDate: (from) => from.PlainDate.from("2024-02-29"),
	PlainDateTime: (from) => from.PlainDateTime.from("2024-02-29T12:30:00"),
	Tuple: (from) => from.Tuple.of(1, 2),
};

const { Float, NdArray, PlainDate, PlainDateTime, Tuple } = adapter;
const CLASSES = { Float, NdArray, PlainDate, PlainDateTime, Tuple };

test.each(Object.entries(MAKERS))(
	"a %s of another copy of this package crosses as one of this copy does",
	(name, make) => {
		const [ours, theirs] = [make(adapter), make(second)];
		expect(theirs.constructor).not.toBe(ours.constructor);
		expect(adapter.encodeValue({ value: theirs })).toEqual(
			adapter.encodeValue({ value: ours }),
		);
		const classes = Object.entries(CLASSES).flatMap(([each, type]) =>
			theirs instanceof type ? [each] : [],
		);
		expect(classes).toEqual([name]);
	},
);

test("a plain array is still no Tuple", () => {
	expect([1, 2]).not.toBeInstanceOf(adapter.Tuple);
	expect(adapter.encodeValue([1, 2])).not.toEqual(
		adapter.encodeValue(adapter.Tuple.of(1, 2)),
	);
});
