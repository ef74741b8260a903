import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { FRAME } from "../../src/channel/frame-cutter.ts";
import { FrameWriter } from "../../src/channel/frame-writer.ts";

/** What is written, piece by piece, in the turn in which it is written. */
function outlet(): { readonly socket: Writable; readonly written: Buffer[] } {
	const written: Buffer[] = [];
	const socket = new Writable({
		write: (piece: Buffer, _encoding, done) => {
			written.push(piece);
			done();
		},
	});
	return { socket, written };
}

const turn = (): Promise<void> =>
	new Promise((resolve) => setImmediate(resolve));

test("what is written in one turn leaves together, when the turn is over", async () => {
	const { socket, written } = outlet();
	const writer = new FrameWriter(socket as never);
	for (const byte of [1, 2, 3]) writer.write(FRAME, Buffer.of(byte));
	expect(written).toEqual([]);
	await turn();
	expect(written).toEqual([
		Buffer.of(0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 3),
	]);
});

test("what is flushed leaves now, in order, and once", async () => {
	const { socket, written } = outlet();
	const writer = new FrameWriter(socket as never);
	writer.write(FRAME, Buffer.of(1));
	writer.flush();
	expect(written).toEqual([Buffer.of(0, 0, 0, 0, 1, 1)]);
	writer.write(FRAME, Buffer.of(2));
	await turn();
	writer.flush();
	await turn();
	expect(written.slice(1)).toEqual([Buffer.of(0, 0, 0, 0, 1, 2)]);
});
