import { describe, expect, test } from "vitest";
import { linesOf } from "../../src/job/job.ts";

const tooLong = async (): Promise<never> => {
	throw new Error("too long");
};

async function* cut(bytes: Uint8Array, size: number) {
	for (let from = 0; from < bytes.length; from += size)
		yield bytes.subarray(from, from + size);
}

async function lines(text: string, size: number, most = 1_000) {
	return await Array.fromAsync(
		linesOf(cut(Buffer.from(text), size), most, tooLong),
	);
}

describe("bytes are lines, wherever they are cut", () => {
	test.each([
		["", []],
		["one", ["one"]],
		["one\n", ["one"]],
		["one\n\ntwo", ["one", "", "two"]],
		["\n", [""]],
		["one\r\ntwo\r\n", ["one", "two"]],
		["a\rb\n", ["a\rb"]],
		["größer\n日本\n", ["größer", "日本"]],
	])("%j", async (text, expected) => {
		for (let size = 1; size <= 8; size++)
			expect(await lines(text, size)).toEqual(expected);
	});
});

test("a line may be as long as the limit, and no byte longer", async () => {
	for (const size of [1, 3, 100]) {
		expect(await lines("1234\n123", size, 4)).toEqual(["1234", "123"]);
		await expect(lines("1234\n12345\n", size, 4)).rejects.toThrow("too long");
		await expect(lines("12345", size, 4)).rejects.toThrow("too long");
	}
});
