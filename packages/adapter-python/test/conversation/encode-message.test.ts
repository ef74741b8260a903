import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { expect, test } from "vitest";
import { encodeMessage } from "../../src/encode-message.ts";

/** Encodes so many bytes, and returns with which writer that was. */
function writerFor(bytes: number): BinaryWriter {
	const used: BinaryWriter[] = [];
	const kind = {
		encode(length: number, writer = new BinaryWriter()): BinaryWriter {
			used.push(writer);
			return writer.raw(new Uint8Array(length));
		},
	};
	expect(encodeMessage(kind, bytes)).toHaveLength(bytes);
	return used[0] as BinaryWriter;
}

test("small messages share a writer, and what a large one took is given back", () => {
	const first = writerFor(10);
	expect(writerFor(16_384)).toBe(first);
	const large = writerFor(16_385);
	expect(large).toBe(first);
	expect(writerFor(10)).not.toBe(large);
});

test("a writer with which a message could not be encoded is not used again", () => {
	const used = writerFor(10);
	const kind = {
		encode(_message: number, writer = new BinaryWriter()): BinaryWriter {
			writer.raw(new Uint8Array(3));
			throw new RangeError("no such number");
		},
	};
	expect(() => encodeMessage(kind, 1)).toThrow("no such number");
	expect(writerFor(10)).not.toBe(used);
});
