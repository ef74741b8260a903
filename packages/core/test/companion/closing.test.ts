import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, onTestFinished, test } from "vitest";
import { endHost } from "../../../../scripts/end-host.ts";
import {
	eventually,
	isAlive,
	machine,
	temporaryDirectory,
} from "../cleanup/hosts.ts";
import { companionBench } from "./companion-bench.ts";

describe.each(["gentle", "forced"] as const)("a %s close", (manner) => {
	test("while the first companion starts ends it, and createPool rejects", async () => {
		const { run, events, open, has } = await companionBench();
		has("slow");
		const opening = open();
		const refused = expect(opening).rejects.toMatchObject({
			name: "StartError",
			code: "START_WITHDRAWN",
		});
		await eventually(
			"its process",
			() => run.registry.living()[0]?.status === "active",
		);
		await run.close({ manner });
		await refused;
		expect(run.registry.living()).toEqual([]);
		expect(events.of("companion.started")).toEqual([]);
		events.assertPaired();
	});

	test("while a lost one is started anew withdraws the starts that wait for it", async () => {
		const { run, events, open, next, has, signal } = await companionBench();
		const pool = await open();
		has("slow");
		const starting = next("worker.starting");
		signal("SIGKILL");
		await starting;
		const refused = expect(pool.execute("pid")).rejects.toMatchObject({
			code: "POOL_CLOSED",
		});
		await pool.close({ manner, drainMs: 0 });
		await refused;
		expect(run.registry.living()).toEqual([]);
		expect(
			events
				.of("worker.start_failed")
				.map(({ error }) => (error as Error & { code?: string }).code),
		).toEqual(events.of("worker.start_failed").map(() => "START_WITHDRAWN"));
		events.assertPaired();
	});

	test("while it pauses before the next start ends at once", async () => {
		const { run, open, next, has, signal } = await companionBench();
		const hour = 3_600_000;
		const pool = await open({
			start: { maxRestarts: 0, backoffMs: hour },
		});
		has("refuses");
		const failed = next("companion.unavailable");
		signal("SIGKILL");
		await failed;
		await pool.close({ manner, drainMs: 0 });
		expect(run.registry.living()).toEqual([]);
	});

	test("in the turn in which it is lost leaves nothing", async () => {
		const { run, events, open, next, signal } = await companionBench();
		const pool = await open();
		// Its workers notice the loss, too: they may have ended before they are condemned.
		const lost = Promise.race([
			next("worker.condemned"),
			next("worker.exited"),
		]);
		signal("SIGKILL");
		await lost;
		await pool.close({ manner });
		expect(run.registry.living()).toEqual([]);
		events.assertPaired();
	});
});

test("one that does not end by SIGTERM is killed when the time is over", async () => {
	const { run, events, open, signal } = await companionBench();
	const pool = await open({ stop: { killAfterMs: 500 } });
	const pid = signal("SIGSTOP");
	await pool.close();
	expect(isAlive(pid)).toBe(false);
	expect(events.of("companion.ended")).toMatchObject([
		{ how: "released", exit: { kind: "signal", signal: "SIGKILL" } },
	]);
	expect(run.registry.living()).toEqual([]);
});

test.each(["is killed", "calls process.exit()"])(
	"when the host %s, companion and workers are gone",
	async (how) => {
		const host = spawn(
			process.execPath,
			[
				join(import.meta.dirname, "accompanied-host.ts"),
				temporaryDirectory(),
				temporaryDirectory(),
			],
			{ stdio: ["pipe", "pipe", "inherit"] },
		);
		const self = machine.observe(host.pid ?? 0);
		onTestFinished(() => endHost(machine, host, self));
		const lines = createInterface({ input: host.stdout });
		const { value } = await lines[Symbol.asyncIterator]().next();
		const pids = JSON.parse(value) as readonly number[];
		expect(pids.map(isAlive)).toEqual([true, true, true]);
		if (how === "is killed") host.kill("SIGKILL");
		else host.stdin.end();
		await eventually("their end", () => !pids.some(isAlive));
	},
);
