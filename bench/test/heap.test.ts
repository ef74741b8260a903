import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { type HeapBytes, heapBytes } from "../src/measure/heap.ts";

// Tests of other files were in this process before: what they left would be collected meanwhile.
setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

describe("heapBytes", () => {
	it("counts what a program holds as objects", () => {
		const held: object[] = [];
		const grown = growthBy(() => {
			for (let n = 0; n < 100_000; n++) held.push({ n });
		});
		expect(held).toHaveLength(100_000);
		expect(grown.objects).toBeGreaterThan(1_000_000);
		expect(grown.objects).toBeGreaterThan(10 * grown.code);
	});

	it("counts what V8 compiles as code", () => {
		const held: unknown[] = [];
		const grown = growthBy(() => {
			for (let n = 0; n < 2_000; n++) {
				const sum = Array.from({ length: 50 }, (_, i) => `a*${n + i}`);
				const compiled = new Function("a", `return ${sum.join("+")}`);
				held.push(compiled, compiled(n));
			}
		});
		expect(grown.code).toBeGreaterThan(200_000);
	});
});

function growthBy(work: () => void): HeapBytes {
	collect();
	const before = heapBytes();
	work();
	collect();
	const after = heapBytes();
	return {
		objects: after.objects - before.objects,
		code: after.code - before.code,
	};
}
