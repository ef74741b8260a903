import { expect, test } from "vitest";
import { Collected } from "../../src/channel/message-cutter.ts";

const KB = 1024;

test("what is only announced takes little memory, and what arrives at most 32 times its size", () => {
	const collected = new Collected(256 * KB * KB);
	expect(collected.reserved).toBe(256 * KB);
	collected.add(new Uint8Array(256 * KB));
	expect(collected.reserved).toBe(256 * KB);
	collected.add(new Uint8Array(1));
	expect(collected.reserved).toBe(32 * 256 * KB);
});

test("bytes that arrive in pieces of any size are in their order", () => {
	const sent = Buffer.alloc(9 * KB * KB, "no multiple of anything");
	const collected = new Collected(sent.length);
	for (let at = 0, size = 1; at < sent.length; at += size, size *= 3)
		collected.add(sent.subarray(at, at + size));
	expect(collected.missing).toBe(0);
	expect(sent.equals(collected.whole())).toBe(true);
});
