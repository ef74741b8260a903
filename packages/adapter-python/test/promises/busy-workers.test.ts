import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PoolOptions } from "@snakepit/core";
import type { EventRecorder } from "@snakepit/core/testing";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { testPool } from "../../../../scripts/test-pool.ts";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";

const tools = new URL("./computes.py", import.meta.url);
/** A silence of a second is long; a host that is late by less than 0.2 s can judge. */
const heartbeat = {
	intervalMs: 400,
	hungAfterMs: 1_000,
};

const open = (more: PoolOptions["heartbeat"] & object = {}) =>
	testPool({
		adapter: python({ tools, python: PYTHON }),
		heartbeat: { ...heartbeat, ...more },
	});

/** Of the heartbeat, in order; of no account are single pings. */
const verdicts = (events: EventRecorder): readonly string[] =>
	events.types().filter((type) => /^heartbeat\.(busy|hung)$/.test(type));

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
		const { pool, events } = await open();
		const pid = await pool.execute("up");
		const until = join(temporaryDirectory(), "until");
		writeFileSync(until, "\0");
		const call = pool.execute(tool, { until });
		const silent = events.next(
			"heartbeat.missed",
			({ sequence }) => sequence >= 6,
			60_000,
		);
		await Promise.race([call, silent]);
		// In place: a file that is mapped must not be cut off.
		writeFileSync(until, "\u0001\n", { flag: "r+" });
		expect(await call).toBe(answer);
		expect(verdicts(events)).toEqual(["heartbeat.busy"]);
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
	const { pool, events } = await open();
	await expect(pool.execute(tool, args)).rejects.toMatchObject({
		code: "WORKER_HUNG",
		message: expect.stringContaining(
			"used no processor time (heartbeat.hungAfterMs)",
		),
	});
	expect(verdicts(events).at(-1)).toBe("heartbeat.hung");
});

test("one that computes longer than its user allows is hung", {
	timeout: 120_000,
}, async () => {
	const { pool } = await open({ busyLimitMs: 2_000 });
	const until = join(temporaryDirectory(), "until");
	writeFileSync(until, "\0");
	await expect(pool.execute("compute", { until })).rejects.toMatchObject({
		code: "WORKER_HUNG",
		message: expect.stringContaining("(heartbeat.busyLimitMs)"),
	});
});
