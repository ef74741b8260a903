import { expect, test } from "vitest";
import { createPool, type Pool } from "../../src/index.ts";
import { PoolNames } from "../../src/pool/pool-names.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const adapter = {
	name: "mine",
	launch: () => ({ executable: "sleep", args: ["1000"] }),
	connect: async () => ({
		execute: async () => undefined,
		[Symbol.asyncDispose]: async () => {},
	}),
};

test("a name that an open pool has gets a number, the lowest that is free", () => {
	const names = new PoolNames();
	expect(names.free("python")).toBe("python");
	const giveBack = names.take("python");
	expect(names.free("python")).toBe("python-2");
	names.take("python-2");
	expect(names.free("python")).toBe("python-3");
	giveBack();
	giveBack();
	expect(names.free("python")).toBe("python");
	expect(names.free("python-2")).toBe("python-2-2");
});

test("a name that is taken twice is free when both have given it back", () => {
	const names = new PoolNames();
	const first = names.take("a");
	const second = names.take("a");
	first();
	expect(names.free("a")).toBe("a-2");
	second();
	expect(names.free("a")).toBe("a");
});

test("a long name keeps within the limit", () => {
	const names = new PoolNames();
	const name = "x".repeat(40);
	names.take(name);
	expect(names.free(name)).toBe(`${"x".repeat(38)}-2`);
});

test("pools of one program that are given no name get different ones; a closed or failed one gives its name back", async () => {
	const options = {
		adapter,
		dataDir: temporaryDirectory(),
		size: 1,
		output: { echo: "none" },
	} as const;
	const workerOf = (pool: Pool): string | undefined =>
		pool.workers()[0]?.workerId;
	await using first = await createPool(options);
	const connect = async () => {
		throw new Error("on purpose");
	};
	await expect(
		createPool({
			...options,
			adapter: { ...adapter, connect },
			start: { maxRestarts: 0 },
		}),
	).rejects.toThrow(/on purpose/);
	await using second = await createPool(options);
	expect([first, second].map(({ name }) => name)).toEqual(["mine", "mine-2"]);
	expect([first, second].map(workerOf)).toEqual(["mine-0", "mine-2-0"]);
	await first.close();
	await using third = await createPool(options);
	expect(third.name).toBe("mine");
	await using named = await createPool({ ...options, name: "mine-2" });
	expect(named.name).toBe("mine-2");
});
