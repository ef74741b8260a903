import { createPool } from "@snakepit/core";
import { expect, test } from "vitest";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";
import { freshDirectory } from "./host-process.ts";

const tools = new URL("./waits.py", import.meta.url);

test("no call fails because another program stopped a worker", {
	timeout: 60_000,
}, async () => {
	await using pool = await createPool({
		adapter: python({ tools, python: PYTHON }),
		size: 2,
		callsPerWorker: 2,
		dataDir: freshDirectory(),
		output: { echo: "none" },
	});
	const begun = Promise.withResolvers<string>();
	pool.on("worker.output", ({ line, incarnation }) => {
		if (line === "begun async_sleep") begun.resolve(incarnation);
	});
	const leaving = Promise.withResolvers<string>();
	pool.on("worker.retiring", ({ reason, incarnation }) => {
		if (reason === "leaving") leaving.resolve(incarnation);
	});
	const left = Promise.withResolvers<void>();
	pool.on("worker.exited", () => left.resolve());

	// Until it is cancelled it keeps its worker, which refuses calls meanwhile.
	const kept = pool.execute("async_sleep");
	const cut = expect(kept).rejects.toMatchObject({
		code: "WORKER_REPLACED",
		ran: "maybe",
	});
	const incarnation = await begun.promise;
	const worker = pool
		.workers()
		.find((each) => each.incarnation === incarnation);
	process.kill(worker?.pid ?? Number.NaN, "SIGTERM");
	let known = false;
	void leaving.promise.then(() => {
		known = true;
	});
	while (!known)
		await Promise.all(Array.from({ length: 4 }, () => pool.execute("pid")));
	expect(await leaving.promise).toBe(incarnation);
	await cut;
	await left.promise;
	expect(await pool.execute("pid")).not.toBe(worker?.pid);
});

test("a call whose input was read and that never started is reported so, and not repeated without it", {
	timeout: 60_000,
}, async () => {
	await using pool = await createPool({
		adapter: python({ tools, python: PYTHON }),
		size: 1,
		callsPerWorker: 2,
		dataDir: freshDirectory(),
		output: { echo: "none" },
	});
	const begun = new Promise((resolve) => {
		pool.on("worker.output", ({ line }) => {
			if (line === "begun block_the_loop") resolve(undefined);
		});
	});
	const blocks = pool.execute("block_the_loop").catch(() => {});
	await begun;
	const read = Promise.withResolvers<void>();
	async function* numbers(): AsyncGenerator<number> {
		yield 1;
		yield 2;
		read.resolve();
	}
	// It waits for the loop that the other one blocks.
	const waits = expect(
		pool.execute("collect", {}, { input: numbers() }),
	).rejects.toMatchObject({ code: "WORKER_REPLACED", ran: "no" });
	await read.promise;
	process.kill(pool.workers()[0]?.pid ?? Number.NaN, "SIGTERM");
	await waits;
	await blocks;
});
