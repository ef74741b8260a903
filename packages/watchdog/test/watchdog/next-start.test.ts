import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allGone, hostUp, shell, temporaryDirectory } from "./hosts.ts";

const SLEEPS = "while :; do sleep 100000; done";

test("what a watchdog did is reported by the next start, once, with the times at which it happened", async () => {
	const dataDir = temporaryDirectory();
	const order = { dataDirs: [dataDir], commands: [shell(`exec sleep 100000`)] };
	const dead = await hostUp(order);
	const { pid } = await dead.event("protection.started");
	const { runId } = await dead.event("run.started");
	const killedAt = Date.now();
	dead.kill();
	await allGone([...dead.pids, pid]);
	const goneAt = Date.now();
	expect(
		readdirSync(dataDir).filter((name) => name.startsWith("snakepit-")),
	).toEqual([]);

	const starters = await Promise.all([hostUp(order), hostUp(order)]);
	const reported = starters.flatMap((host) => [
		...host.events("protection.host_death_detected"),
		...host.events("protection.process_killed"),
		...host.events("protection.run_settled"),
	]);
	const common = { protection: "watchdog", ofRun: runId };
	expect(reported).toMatchObject([
		{
			type: "protection.host_death_detected",
			...common,
			pid,
			detectionMs: expect.any(Number),
		},
		{
			type: "protection.process_killed",
			...common,
			pid: dead.pids[0],
			incarnation: `${runId}-1`,
			foundBy: "reported",
			signal: "SIGKILL",
		},
		{ type: "protection.run_settled", ...common, killed: 1 },
	]);
	for (const { wallMs } of reported) {
		expect(wallMs).toBeGreaterThanOrEqual(killedAt);
		expect(wallMs).toBeLessThanOrEqual(goneAt);
	}
	expect(starters.flatMap((host) => host.events("orphan.reaped"))).toEqual([]);
	const history = readdirSync(join(dataDir, "history"));
	expect(history.filter((name) => name.startsWith(runId)).length).toBe(1);
	const third = await hostUp(order);
	expect(third.events("protection.run_settled")).toEqual([]);
});

test("a start that races with the watchdog: one of them cleans up, and nothing is left", async () => {
	const dataDir = temporaryDirectory();
	const order = { dataDirs: [dataDir], commands: [shell(SLEEPS)] };
	const dead = await hostUp(order);
	const { pid } = await dead.event("protection.started");
	const { runId } = await dead.event("run.started");
	dead.kill();
	await dead.ended();
	const racing = await hostUp(order);
	await allGone([...dead.pids, pid]);
	const later = await hostUp(order);
	const settled = [racing, later].flatMap((host) =>
		host.events("protection.run_settled"),
	);
	expect(settled.length).toBeLessThanOrEqual(1);
	const history = readdirSync(join(dataDir, "history"));
	expect(history.filter((name) => name.startsWith(runId)).length).toBe(1);
});
