import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { LENT_BYTES } from "../../src/channel/frame-channel.ts";
import { FRAME } from "../../src/channel/message-cutter.ts";
import { MessageWriter } from "../../src/channel/message-writer.ts";

/** What is written, piece by piece, in the turn in which it is written. */
function outlet(): { readonly socket: Writable; readonly written: Buffer[] } {
	const written: Buffer[] = [];
	const socket = new Writable({
		write: (piece: Buffer, _encoding, done) => {
			// What the kernel has may be written over.
			written.push(Buffer.from(piece));
			done();
		},
	});
	return { socket, written };
}

const turn = (): Promise<void> =>
	new Promise((resolve) => setImmediate(resolve));

test("what is written in one turn leaves together, when the turn is over", async () => {
	const { socket, written } = outlet();
	const writer = new MessageWriter(socket as never);
	for (const byte of [1, 2, 3]) writer.write(FRAME, Buffer.of(byte));
	expect(written).toEqual([]);
	await turn();
	expect(written).toEqual([
		Buffer.of(0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 3),
	]);
});

test("what is flushed leaves now, in order, and once", async () => {
	const { socket, written } = outlet();
	const writer = new MessageWriter(socket as never);
	writer.write(FRAME, Buffer.of(1));
	writer.flush();
	expect(written).toEqual([Buffer.of(0, 0, 0, 0, 1, 1)]);
	writer.write(FRAME, Buffer.of(2));
	await turn();
	writer.flush();
	await turn();
	expect(written.slice(1)).toEqual([Buffer.of(0, 0, 0, 0, 1, 2)]);
});

test("what the socket could not write yet is not written over", async () => {
	const finish: (() => void)[] = [];
	const written: Buffer[] = [];
	const socket = new Writable({
		write: (piece: Buffer, _encoding, done) => {
			written.push(piece);
			finish.push(done);
		},
	});
	const writer = new MessageWriter(socket as never);
	for (let byte = 1; byte <= 3; byte++)
		writer.write(FRAME, Buffer.of(byte), "now");
	while (finish.length > 0) {
		finish.shift()?.();
		await turn();
	}
	expect(written).toEqual(
		[1, 2, 3].map((byte) => Buffer.of(0, 0, 0, 0, 1, byte)),
	);
});

test("whatever their sizes, messages leave in order, and none is written over before it has left", async () => {
	const sizes = [0, 16_384, 16_385, 5, 60_000, 16_384, 16_384, 16_384, 16_384];
	const { socket, written } = outlet();
	const writer = new MessageWriter(socket as never);
	for (const [i, size] of sizes.entries()) {
		const body = Buffer.alloc(size, i + 1);
		writer.write(FRAME, body);
		// It was lent.
		if (size <= LENT_BYTES) body.fill(0xff);
	}
	await turn();
	expect(Buffer.concat(written)).toEqual(
		Buffer.concat(
			sizes.flatMap((size, i) => {
				const header = Buffer.alloc(5);
				header.writeUInt32BE(size, 1);
				return [header, Buffer.alloc(size, i + 1)];
			}),
		),
	);
});
