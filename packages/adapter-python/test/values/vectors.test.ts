import { InputError } from "@snakepit/core";
import { describe, expect, test } from "vitest";
import { decodeValue, encodeValue, Float } from "../../src/index.ts";
import { LOSSY, typescriptValue, VECTORS } from "../support/value-vectors.ts";

const bytesOf = (hex: string) => new Uint8Array(Buffer.from(hex, "hex"));
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

const readable = VECTORS.filter(({ refused }) => !refused);
const written = readable.filter(
	({ name, read_only }) => !read_only && !LOSSY.has(name),
);

describe("the bytes that Python is tested against", () => {
	test.each(readable)("$name is read", (vector) => {
		const value = decodeValue(bytesOf(vector.wire_hex));
		expect(value).toStrictEqual(typescriptValue(vector));
	});

	test.each(written)("$name is written", (vector) => {
		expect(hexOf(encodeValue(typescriptValue(vector)))).toBe(vector.wire_hex);
	});

	test.each(VECTORS.filter(({ refused }) => refused))(
		"$name is refused",
		({ wire_hex }) => {
			expect(() => decodeValue(bytesOf(wire_hex))).toThrow(InputError);
		},
	);

	test("a whole float is written by its wrapper", () => {
		expect(hexOf(encodeValue(new Float(1)))).toBe("cb3ff0000000000000");
	});
});
