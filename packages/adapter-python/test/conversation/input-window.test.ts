import { expect, test } from "vitest";
import { InputWindow } from "../../src/conversation/input-pump.ts";

test("nothing is sent before the first grant", () => {
	const window = new InputWindow();
	expect(window.isOpen).toBe(false);
	window.grant(1);
	expect(window.isOpen).toBe(true);
});

test("large items: as many are out as the first grant allows, and one more for each that was read", () => {
	const window = new InputWindow();
	window.grant(16);
	expect(sentUntilClosed(window, 100_000)).toBe(16);
	window.grant(8);
	expect(sentUntilClosed(window, 100_000)).toBe(8);
});

test("small items: 64 KiB of them are out, each counted as 256 bytes at least", () => {
	const window = new InputWindow();
	window.grant(16);
	expect(sentUntilClosed(window, 1)).toBe(256);
	window.grant(8);
	expect(sentUntilClosed(window, 1024)).toBe(2);
});

test("a large item behind small ones counts until it was read", () => {
	const window = new InputWindow();
	window.grant(2);
	expect(sentUntilClosed(window, 256)).toBe(256);
	window.grant(200);
	window.take(1_000_000);
	expect(window.isOpen).toBe(false);
	window.grant(56);
	expect(window.isOpen).toBe(true);
	window.take(1);
	expect(window.isOpen).toBe(false);
	window.grant(1);
	expect(sentUntilClosed(window, 256)).toBe(255);
});

function sentUntilClosed(window: InputWindow, bytes: number): number {
	let sent = 0;
	for (; window.isOpen; sent++) window.take(bytes);
	return sent;
}
