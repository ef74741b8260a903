import { expect, test } from "vitest";
import { ToolError } from "../../src/contract/errors.ts";
import { failing } from "../../src/contract/thrown.ts";
import { scripts } from "../../src/testing.ts";
import { virtualPool } from "../pool/virtual-pool.ts";

const refused = (): ToolError =>
	new ToolError({
		ran: "maybe",
		message: "no",
		remote: {
			...{ type: "E", message: "no", traceback: "" },
		},
	});

const stackOf = async (call: () => Promise<unknown>): Promise<string> => {
	const error: unknown = await call().then(
		() => undefined,
		(reason) => reason,
	);
	return (error as Error).stack ?? "";
};

test("the stack of a failed call has the code that waits for it", async () => {
	const { pool, close } = await virtualPool({
		commands: {
			fails: async () => {
				throw refused();
			},
		},
	});
	const theCaller = async (): Promise<unknown> => await pool.execute("fails");
	const all = async (): Promise<unknown> =>
		await Promise.all([theCaller(), pool.execute("fails")]);
	expect(await stackOf(theCaller)).toMatch(
		/at (async )?theCaller .*\.test\.ts/,
	);
	expect(await stackOf(all)).toMatch(/at (async )?Promise\.all/);
	await close();
});

test("so has the stack of a call whose deadline passes", async () => {
	const { pool, clock, close } = await virtualPool({
		commands: { hangs: scripts.hang },
	});
	const theCaller = async (): Promise<unknown> =>
		await pool.execute("hangs", undefined, { timeoutMs: 50 });
	const stack = stackOf(theCaller);
	await clock.advance(60);
	expect(await stack).toMatch(/at (async )?theCaller .*\.test\.ts/);
	await close();
});

test("so has the stack of a stream that fails", async () => {
	const { pool, close } = await virtualPool({
		commands: {
			fails: async function* () {
				yield 1;
				throw refused();
			},
		},
	});
	const theReader = async (): Promise<void> => {
		for await (const _ of pool.stream("fails"));
	};
	expect(await stackOf(theReader)).toMatch(
		/at (async )?theReader .*\.test\.ts/,
	);
	await close();
});

test("an error keeps where it was made, and one for several calls gets no longer with each", async () => {
	const error = refused();
	const theCaller = async (): Promise<unknown> => await failing(error);
	const first = await stackOf(theCaller);
	expect(first).toContain("at refused ");
	expect(await stackOf(theCaller)).toBe(first);
});

test("an error whose stack cannot be written reaches the caller as it is", async () => {
	const error = Object.freeze(refused());
	await expect(failing(error)).rejects.toBe(error);
});
