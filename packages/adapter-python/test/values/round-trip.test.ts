import { decode as theirDecode, encode as theirEncode } from "@msgpack/msgpack";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeValue, encodeValue, NdArray } from "../../src/index.ts";
import { anyValue, jsonValue } from "../support/arbitrary-values.ts";

test("every value that has an encoding comes back as it was", {
	timeout: 120_000,
}, () => {
	fc.assert(
		fc.property(anyValue(), (value) => {
			expect(decodeValue(encodeValue(value))).toStrictEqual(value);
		}),
	);
});

test("plain data is MessagePack as others write and read it", () => {
	fc.assert(
		fc.property(jsonValue(), (value) => {
			expect(theirDecode(encodeValue(value))).toStrictEqual(value);
			expect(decodeValue(theirEncode(value))).toStrictEqual(value);
		}),
	);
});

test("any bytes are a value or a clear error, never anything else", () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
			try {
				decodeValue(bytes);
			} catch (error) {
				expect(error).toMatchObject({ code: "VALUE_NOT_TRANSFERABLE" });
			}
		}),
		{ numRuns: 2000 },
	);
});

test("damage to an encoding is a value or a clear error, never anything else", () => {
	const damaged = fc
		.tuple(anyValue(), fc.nat(), fc.nat(255))
		.map(([value, place, byte]) => {
			const bytes = encodeValue(value).slice();
			bytes[place % bytes.length] = byte;
			return bytes;
		});
	fc.assert(
		fc.property(damaged, (bytes) => {
			try {
				decodeValue(bytes);
			} catch (error) {
				expect(error).toMatchObject({ code: "VALUE_NOT_TRANSFERABLE" });
			}
		}),
		{ numRuns: 1000 },
	);
});

test("a small message cannot announce a large value", () => {
	for (const hex of [
		"dd7fffffff",
		"df7fffffff",
		"c67fffffff",
		"db7fffffff",
		"c97fffffff06",
	]) {
		const bytes = new Uint8Array(Buffer.from(hex, "hex"));
		expect(() => decodeValue(bytes)).toThrow(/announced/);
	}
});

test("levels that announce the same bytes again are refused before memory is taken for them", () => {
	const level = Buffer.from([0xdd, 0x00, 0x0f, 0x00, 0x00]);
	const bytes = Buffer.concat([
		...Array.from({ length: 99 }, () => level),
		Buffer.alloc(0x0f_0000),
	]);
	const before = process.memoryUsage().heapUsed;
	expect(() => decodeValue(bytes)).toThrow(/983040 items announced/);
	expect(process.memoryUsage().heapUsed - before).toBeLessThan(100_000_000);
});

test("no encoding is deeper than the reader goes", () => {
	const bytes = new Uint8Array(100_000).fill(0x91);
	expect(() => decodeValue(bytes)).toThrow(/levels/);
	const extensions = Buffer.concat(
		Array.from({ length: 20_000 }, (_, i) => {
			const header = Buffer.from([0xc9, 0, 0, 0, 0, 6, 0x91]);
			header.writeUInt32BE((20_000 - i) * 7 - 6, 1);
			return header;
		}),
	);
	expect(() => decodeValue(extensions)).toThrow(/levels/);
});

test("the prototype of objects cannot be changed by a message", () => {
	const hostile = encodeValue(new Map([["x", 1]])).slice();
	const bytes = Buffer.concat([
		Buffer.from([0x81, 0xa9]),
		Buffer.from("__proto__"),
		hostile,
	]);
	expect(() => decodeValue(new Uint8Array(bytes))).toThrow(/__proto__/);
	const value = decodeValue(
		encodeValue(JSON.parse('{"__proto__": {"polluted": 1}}')),
	);
	expect(value).toStrictEqual(new Map([["__proto__", { polluted: 1 }]]));
	expect(Object.prototype).not.toHaveProperty("polluted");
});

test("small bytes are copies: they keep no large message alive", () => {
	const [small, large] = decodeValue(
		encodeValue([new Uint8Array(10), new Uint8Array(1_000_000)]),
	) as [Uint8Array, Uint8Array];
	expect(small.buffer.byteLength).toBe(10);
	expect(large.byteLength).toBe(1_000_000);
});

/** MessagePack of an extension with less than 256 bytes. */
const extension = (type: number, content: Uint8Array): Uint8Array =>
	Buffer.concat([Buffer.from([0xc7, content.length, type]), content]);
const nan = Buffer.from("cb7ff8000000000000", "hex");
const otherNan = Buffer.from("cbfff8000000000000", "hex");

test.each([
	["a set", 7, [0x92], /a set with two items that are the same/],
	["a map", 5, [0x94], /a map with two keys that are the same/],
] as const)(
	"%s with nan twice is refused, not shortened",
	(_, type, head, problem) => {
		const value = type === 5 ? Buffer.from([1]) : Buffer.alloc(0);
		const content = [Buffer.from(head), nan, value, otherNan, value];
		const encoded = extension(type, Buffer.concat(content));
		expect(() => decodeValue(encoded)).toThrow(problem);
	},
);

test.each([
	["lists", [0x91]],
	["maps", [0x81, 0xa1, 0x61]],
])("a hundred levels of %s are read, and one more is refused", (_, opening) => {
	const encoded = (levels: number, inner: Uint8Array) =>
		Buffer.concat([
			...Array.from({ length: levels }, () => Buffer.from(opening)),
			inner,
		]);
	// An array of numbers is no level, and neither is a part of an attachment.
	for (const inner of [null, new NdArray("int8", [1], Int8Array.of(1))])
		expect(() => decodeValue(encoded(100, encodeValue(inner)))).not.toThrow();
	const attached = Buffer.from("c70309920001", "hex");
	expect(() =>
		decodeValue(encoded(100, attached), Uint8Array.of(7)),
	).not.toThrow();
	for (const levels of [101, 102, 2_000])
		expect(() => decodeValue(encoded(levels, encodeValue(null)))).toThrow(
			expect.objectContaining({
				code: "VALUE_NOT_TRANSFERABLE",
				message: expect.stringContaining("more than 100 levels"),
			}),
		);
});

test("the order of a map is kept, and that of an object is JavaScript's", () => {
	const pairs: [string, number][] = [
		["10", 1],
		["b", 2],
		["9", 3],
		["a", 4],
	];
	const encoded = encodeValue(new Map(pairs));
	// It is sent in this order, which Python keeps.
	const content = pairs.map(([key, item]) =>
		Buffer.concat([theirEncode(key), theirEncode(item)]),
	);
	expect(Buffer.from(encoded)).toEqual(
		Buffer.concat([Buffer.of(0x84), ...content]),
	);
	expect(Object.keys(decodeValue(encoded) as object)).toEqual([
		"9",
		"10",
		"b",
		"a",
	]);
	expect(
		decodeValue(encodeValue(new Map<unknown, unknown>([...pairs, [1, 0]]))),
	).toEqual(new Map<unknown, unknown>([...pairs, [1, 0]]));
});
