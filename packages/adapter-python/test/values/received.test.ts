import { expect, test } from "vitest";
import { decoder, decodeValue } from "../../src/values/decode-value.ts";
import { encodeValue } from "../../src/values/encode-value.ts";
import { NdArray } from "../../src/values/nd-array.ts";

const numbers = new Float64Array(20_000).map((_, at) => at / 3);

/** An array behind a head of so many bytes, in memory of its own. */
function message(head: number): Uint8Array {
	const value = {
		before: "text",
		array: new NdArray("float64", [2, 10_000], numbers),
		after: [1, "x"],
	};
	const encoded = encodeValue(value);
	const bytes = Buffer.allocUnsafeSlow(head + encoded.length);
	bytes.set(encoded, head);
	return bytes;
}

test.each(Array.from({ length: 8 }, (_, head) => [head]))(
	"a large array behind %i bytes stays in the memory of a message that is read once",
	(head) => {
		const bytes = message(head);
		const { before, array, after } = decoder.decode(
			bytes,
			undefined,
			head,
			bytes.length,
			undefined,
			"read once",
		) as { before: string; array: NdArray<"float64">; after: unknown };
		expect(array.data.buffer).toBe(bytes.buffer);
		expect(array.data).toEqual(numbers);
		expect([array.shape, before, after]).toEqual([
			[2, 10_000],
			"text",
			[1, "x"],
		]);
	},
);

test("bytes that others may read again stay as they are", () => {
	for (let head = 0; head < 8; head++) {
		const bytes = message(head);
		const sent = Uint8Array.from(bytes);
		decodeValue(bytes, undefined, head, bytes.length);
		expect(Buffer.compare(bytes, sent)).toBe(0);
	}
});

test("what follows a large message that cannot be read is read as it is", () => {
	const large = encodeValue({ text: "x".repeat(1_000), count: 1 });
	const small = { ratio: 1 / 3, count: 2 };
	// Its last value is cut off.
	const cut = large.subarray(0, -1);
	expect(() => decodeValue(cut)).toThrow(/malformed/);
	expect(decodeValue(encodeValue(small))).toEqual(small);
});
