import type { ScriptedCommand } from "../../src/testing/scripted-adapter.ts";
import { scripts } from "../../src/testing.ts";

type Command = "echo" | "work" | "hang" | "crash" | "fail" | "take";

/** What workers of these tests can be asked. */
export const commands: Readonly<Record<Command, ScriptedCommand>> = {
	echo: scripts.echo,
	work: scripts.work,
	hang: scripts.hang,
	crash: scripts.crash,
	fail: scripts.fail,
	/** Takes as long as its argument says, and answers with it; fails when that is negative. */
	take: async ({ args, worker }) => {
		const ms = Number(args);
		await worker.process.sleep(Math.abs(ms));
		if (ms < 0) throw new RangeError(`${ms} is too little`);
		return ms;
	},
};

export const numbers = (length: number): readonly number[] =>
	Array.from({ length }, (_, index) => index);

/** An input that says how far it was read, and whether it was closed. */
export function source(items: Iterable<unknown>): {
	readonly seen: { taken: number; closed: number };
	readonly items: AsyncGenerator<unknown>;
} {
	const seen = { taken: 0, closed: 0 };
	async function* read(): AsyncGenerator<unknown> {
		try {
			for (const item of items) {
				seen.taken++;
				yield item;
			}
		} finally {
			seen.closed++;
		}
	}
	return { seen, items: read() };
}

export async function collected(
	results: AsyncIterable<unknown>,
): Promise<unknown[]> {
	const all: unknown[] = [];
	for await (const result of results) all.push(result);
	return all;
}
