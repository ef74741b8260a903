import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createPool, type Pool, type PoolOptions } from "@snakepit/core";
import { expect, test } from "vitest";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";
import { freshDirectory } from "./host-process.ts";

const tools = new URL("./computes.py", import.meta.url);
/** A silence of a second is long; a host that is late by less than 0.2 s can judge. */
const heartbeat = {
	intervalMs: 400,
	hungAfterMs: 1_000,
};

const poolWith = (given: Pick<PoolOptions, "heartbeat"> = {}): Promise<Pool> =>
	createPool({
		adapter: python({ tools, python: PYTHON }),
		size: 1,
		dataDir: freshDirectory(),
		output: { echo: "none" },
		heartbeat,
		...given,
	});

/** Resolves when so many pings in a row were missed. */
const silence = (pool: Pool, pings: number): Promise<void> =>
	new Promise((resolve) => {
		pool.on("heartbeat.missed", ({ sequence }) => {
			if (sequence >= pings) resolve();
		});
	});

/** Of the heartbeat, in order; of no account are single pings. */
const verdicts = (pool: Pool): string[] => {
	const reported: string[] = [];
	pool.on(({ type }) => {
		if (/^heartbeat\.(busy|hung)$/.test(type)) reported.push(type);
	});
	return reported;
};

test.each([
	["computes with Python's lock", "compute", 1],
	[
		"waits with Python's lock for a child that computes",
		"wait_for_child_that_computes",
		0,
	],
])(
	"a tool that %s for more than twice hungAfterMs is answered by its worker",
	{
		timeout: 120_000,
	},
	async (_what, tool, answer) => {
		await using pool = await poolWith();
		const reported = verdicts(pool);
		const pid = await pool.execute("up");
		const until = join(freshDirectory(), "until");
		writeFileSync(until, "\0");
		const call = pool.execute(tool, { until });
		await Promise.race([call, silence(pool, 6)]);
		// In place: a file that is mapped must not be cut off.
		writeFileSync(until, "\u0001\n", { flag: "r+" });
		expect(await call).toBe(answer);
		expect(reported).toEqual(["heartbeat.busy"]);
		expect(await pool.execute("up")).toBe(pid);
	},
);

test.each([
	["does nothing with Python's lock", "do_nothing", {}],
	[
		"does so while many threads wait for the lock",
		"do_nothing_while_others_wait",
		{ others: 24 },
	],
	["is stopped", "stop", {}],
])("one that %s is hung", { timeout: 120_000 }, async (_what, tool, args) => {
	await using pool = await poolWith();
	const reported = verdicts(pool);
	await expect(pool.execute(tool, args)).rejects.toMatchObject({
		code: "WORKER_HUNG",
		message: expect.stringContaining(
			"used no processor time (heartbeat.hungAfterMs)",
		),
	});
	expect(reported.at(-1)).toBe("heartbeat.hung");
});

test("one that computes longer than its user allows is hung", {
	timeout: 120_000,
}, async () => {
	await using pool = await poolWith({
		heartbeat: { ...heartbeat, busyLimitMs: 2_000 },
	});
	const until = join(freshDirectory(), "until");
	writeFileSync(until, "\0");
	await expect(pool.execute("compute", { until })).rejects.toMatchObject({
		code: "WORKER_HUNG",
		message: expect.stringContaining("(heartbeat.busyLimitMs)"),
	});
});
