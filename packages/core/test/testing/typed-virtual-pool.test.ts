import { expect, test } from "vitest";
import { scripts, virtualPool } from "../../src/testing.ts";

type Tools = {
	mean(args: { numbers: number[] }): number;
	words(args: { text: string }): AsyncIterable<string, number>;
	ping(): string;
};

test("a script takes what its tool takes, answers what it answers, and the pool has the tools' types", async () => {
	const { pool, close } = await virtualPool<Tools>({
		commands: {
			mean: ({ args }) =>
				args.numbers.reduce((sum, each) => sum + each, 0) / args.numbers.length,
			async *words({ args }) {
				const words = args.text.split(" ");
				yield* words;
				return words.length;
			},
		},
	});
	const mean: number = await pool.execute("mean", { numbers: [1, 2, 6] });
	expect(mean).toBe(3);
	const words = pool.stream("words", { text: "to be" });
	const seen: string[] = [];
	for await (const word of words) seen.push(word);
	const count: number = await words.result;
	expect([seen, count]).toEqual([["to", "be"], 2]);
	// @ts-expect-error The tools have no such command.
	await expect(pool.execute("median", {})).rejects.toMatchObject({
		code: "TOOL_NOT_FOUND",
	});
	await close();
});

test("what does not fit the tools' types is an error of the compiler", async () => {
	const made = [
		// @ts-expect-error It answers a number.
		await virtualPool<Tools>({ commands: { mean: () => "three" } }),
		// @ts-expect-error It has no such argument.
		await virtualPool<Tools>({ commands: { mean: ({ args }) => args.values } }),
		// @ts-expect-error There is no such tool.
		await virtualPool<Tools>({ commands: { median: () => 3 } }),
		// @ts-expect-error It streams.
		await virtualPool<Tools>({ commands: { words: () => "to be" } }),
	];
	for (const { close } of made) await close();
	expect(made.length).toBe(4);
});

test("the ready-made scripts stand for any tool that can answer like them", async () => {
	const { pool, close } = await virtualPool<Tools>({
		commands: {
			mean: scripts.fail,
			words: scripts.silent,
			ping: scripts.whoami,
		},
	});
	expect(await pool.execute("ping")).toMatch(/-1$/);
	await expect(pool.execute("mean", { numbers: [] })).rejects.toMatchObject({
		code: "TOOL_FAILED",
	});
	await close();
});
