import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeValue, encodeValue, NdArray } from "../../src/index.ts";
import { Attachment } from "../../src/shared-memory/shared-memory.ts";
import { anyValue } from "../support/arbitrary-values.ts";

test("a value comes back as it was, whatever part of it is beside its encoding", () => {
	fc.assert(
		fc.property(anyValue(), fc.nat(16), (value, fromBytes) => {
			const attachment = new Attachment(fromBytes);
			const encoded = encodeValue(value, { attachment });
			const beside = Buffer.concat(attachment.parts);
			expect(beside.length).toBe(attachment.size);
			expect(decodeValue(encoded, beside)).toStrictEqual(value);
		}),
	);
});

test("arrays lie aligned in an attachment, and are not copied", () => {
	const attachment = new Attachment(1);
	const sent = [new Uint8Array(3), new Float64Array([1, 2]), new Int8Array(1)];
	const encoded = encodeValue(sent, { attachment });
	const beside = new Uint8Array(Buffer.concat(attachment.parts));
	const [, doubles] = decodeValue(encoded, beside) as [unknown, NdArray];
	expect(doubles).toBeInstanceOf(NdArray);
	expect(doubles.data.buffer).toBe(beside.buffer);
	expect(doubles.data.byteOffset % 64).toBe(0);
});

test("a part that is not within the attachment is malformed", () => {
	const encoded = encodeValue(new Uint8Array(9), {
		attachment: new Attachment(1),
	});
	for (const beside of [undefined, new Uint8Array(8)])
		expect(() => decodeValue(encoded, beside)).toThrow(
			/a part at 0 of 9 bytes in an attachment of/,
		);
});
