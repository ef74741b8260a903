import { Writable } from "node:stream";
import { expect, test } from "vitest";
import {
	BYTES,
	FRAME,
	MessageCutter,
} from "../../src/channel/message-cutter.ts";
import { MessageWriter } from "../../src/channel/message-writer.ts";
import {
	readSideband,
	sidebandHead,
} from "../../src/channel/socket-channel.ts";

test.each([0, 1, 100, 70_000, 3_000_000])(
	"%i bytes beside a frame arrive before it, aligned for numbers",
	(size) => {
		const part = { name: "h12", offset: 1_048_576, size };
		const written: Buffer[] = [];
		const socket = new Writable({
			write: (piece: Buffer, _encoding, done) => {
				written.push(piece);
				done();
			},
		});
		const writer = new MessageWriter(socket as never);
		const parts = [new Uint8Array(size).fill(7)];
		writer.writeParts(BYTES, sidebandHead(part), parts, size);
		// They were copied.
		parts[0]?.fill(8);
		writer.write(FRAME, Buffer.of(1), "now");

		const got: unknown[] = [];
		const cutter = new MessageCutter(
			4_000_000,
			(kind, bytes, begin, end) => {
				if (kind === FRAME) {
					got.push("a frame");
					return;
				}
				const message = readSideband(bytes, begin, end);
				got.push(message.part, message.bytes.length);
				expect(message.bytes.byteOffset % 8).toBe(0);
				expect(message.bytes.every((byte) => byte === 7)).toBe(true);
			},
			BYTES,
		);
		for (const piece of written) cutter.take(piece);
		expect(got).toEqual([part, size, "a frame"]);
	},
);

test("a worker of this machine sends nothing beside frames", () => {
	const cutter = new MessageCutter(1000, () => {});
	expect(() => cutter.take(Buffer.of(BYTES, 0, 0, 0, 64))).toThrow(
		"a message of the unknown kind 2 arrived",
	);
});

test("what is shorter than its head is an error", () => {
	expect(() => readSideband(new Uint8Array(63), 0, 63)).toThrow("63 bytes");
});
