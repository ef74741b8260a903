import { readdirSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import {
	bestFit,
	type Segment,
	Segments,
	SharedDirectory,
} from "../../src/shared-memory/segments.ts";

const KEPT = { count: 3, bytes: 10_000, ms: 5000 };

class Bench {
	readonly directory = temporaryDirectory();
	readonly segments: Segments;
	#due: (() => void) | undefined;

	constructor() {
		onTestFinished(() => this.segments.close());
		this.segments = new Segments(
			new SharedDirectory(this.directory),
			KEPT,
			(ms, action) => {
				expect(ms).toBe(KEPT.ms);
				expect(this.#due).toBeUndefined();
				this.#due = action;
				return () => (this.#due = undefined);
			},
		);
	}

	get isWaiting(): boolean {
		return this.#due !== undefined;
	}

	pass(): void {
		const due = this.#due;
		this.#due = undefined;
		due?.();
	}

	/** A segment that a value of so many bytes is in. */
	used(bytes: number): Segment {
		const segment = this.segments.take(bytes);
		segment.write([new Uint8Array(bytes)], bytes);
		return segment;
	}

	get files(): readonly string[] {
		return readdirSync(this.directory).sort();
	}
}

test("a segment that is free is used again, and none that is not", () => {
	const bench = new Bench();
	const [first, second] = [bench.used(100), bench.used(100)];
	expect(second).not.toBe(first);
	bench.segments.giveBack(first);
	expect(bench.used(200)).toBe(first);
	expect(bench.segments.spare(1)).toBeUndefined();
	expect(bench.used(1).name).toBe("h3");
});

test.each<[readonly number[], number, number | undefined]>([
	[[], 5, undefined],
	[[7], 5, 7],
	[[3], 5, 3],
	[[9, 7, 3], 5, 7],
	[[3, 7, 9], 5, 7],
	[[1, 4, 2], 5, 4],
	[[4, 5, 6], 5, 5],
])("of %j the one for %i bytes has %s", (sizes, bytes, expected) => {
	const free = sizes.map((size) => ({ bytes: size }));
	expect(bestFit(free, bytes)?.bytes).toBe(expected);
});

test("of two of a size the one that was used later is taken", () => {
	const free = [{ bytes: 5 }, { bytes: 5 }];
	expect(bestFit(free, 5)).toBe(free[1]);
	expect(bestFit(free, 9)).toBe(free[1]);
});

test("no more are kept than the limits allow, and the worker gets their names", () => {
	const bench = new Bench();
	const used = [1, 2, 3, 4].map(() => bench.used(100));
	for (const segment of used) bench.segments.giveBack(segment);
	expect(bench.segments.gone).toEqual(["h1"]);
	bench.segments.gone = [];
	expect(bench.segments.gone).toEqual([]);
	expect(bench.files).toEqual(["h2", "h3", "h4"]);
	bench.segments.giveBack(bench.used(9_900));
	expect(bench.segments.gone).toEqual(["h2"]);
	const larger = bench.segments.take(10_001);
	larger.write([new Uint8Array(10_001)], 10_001);
	bench.segments.giveBack(larger);
	expect(bench.segments.gone).toEqual(["h2", "h3", "h4"]);
	expect(bench.files).toEqual([]);
});

test("what was not used for a while is given back, and then nothing is waited for", () => {
	const bench = new Bench();
	expect(bench.isWaiting).toBe(false);
	bench.segments.giveBack(bench.used(100));
	bench.pass();
	expect(bench.files).toEqual(["h1"]);
	bench.pass();
	expect(bench.files).toEqual([]);
	expect(bench.segments.gone).toEqual(["h1"]);
	expect(bench.isWaiting).toBe(false);
});

test("what was larger than needed for a while is cut to what was needed", () => {
	const bench = new Bench();
	bench.segments.giveBack(bench.used(5000));
	for (const expected of [5000, 100]) {
		bench.pass();
		const segment = bench.used(100);
		expect(segment.bytes).toBe(expected);
		bench.segments.giveBack(segment);
	}
	bench.pass();
	expect(bench.used(1).bytes).toBe(100);
});

test("a segment that a call has is left alone", () => {
	const bench = new Bench();
	bench.segments.giveBack(bench.used(10));
	const segment = bench.used(100);
	bench.pass();
	bench.pass();
	expect(segment.read(100)).toEqual(Buffer.alloc(100));
});

test("nothing is left when everything is released", () => {
	const bench = new Bench();
	const segment = bench.used(100);
	bench.segments.giveBack(bench.used(200));
	bench.segments.close();
	bench.segments.giveBack(segment);
	expect(bench.files).toEqual([]);
	expect(bench.isWaiting).toBe(false);
});

test("parts are written one behind the other, over what was there", () => {
	const bench = new Bench();
	const segment = bench.used(6);
	segment.write([Uint8Array.of(1, 2), Uint8Array.of(3)], 3);
	expect([...segment.read(6)]).toEqual([1, 2, 3, 0, 0, 0]);
	expect(() => segment.read(7)).toThrow(
		"an attachment of 6 bytes where 7 were announced",
	);
});

test("a value that would take too much of what is free is refused", () => {
	const bench = new Bench();
	const segment = bench.used(6);
	expect(() => segment.write([], 2 ** 50)).toThrow("no room");
});
