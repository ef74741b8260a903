import { existsSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { copyingLibrary } from "../../../../scripts/copied-host.ts";
import { rows } from "../../../../scripts/test-effort.ts";
import {
	allGone,
	anotherWatchdogKills,
	carrying,
	eventually,
	Host,
	hostUp,
	isAlive,
	node,
	shell,
	temporaryDirectory,
} from "./hosts.ts";

const SLEEPS = "while :; do sleep 100000; done";

test("workers that know nothing of Snakepit die with their host, whatever they do", async () => {
	const host = await hostUp({
		dataDirs: [temporaryDirectory()],
		commands: [
			shell(SLEEPS),
			shell(SLEEPS, "trap '' TERM"),
			shell("sleep 100000 & wait"),
			shell("kill -STOP $$"),
			node(""),
			node("setImmediate(() => { while (true); });"),
		],
	});
	const { pid } = await host.event("protection.started");
	host.kill();
	await allGone(host.pids);
	await allGone([pid]);
});

test("a copy of the host that holds its pipe does not hold up the end of its workers, nor that of the watchdog", async ({
	skip,
}) => {
	const dataDir = temporaryDirectory();
	const copying = copyingLibrary(dataDir);
	if (copying === undefined) return skip("there is no compiler");
	const host = await hostUp({
		dataDirs: [dataDir],
		commands: [shell(SLEEPS, "trap '' TERM")],
		copying,
	});
	const { pid } = await host.event("protection.started");
	host.order("copy");
	await host.until("copied");
	const [copy = 0] = host.lines.flatMap((line) =>
		line.kind === "copied" ? [line.pid] : [],
	);
	host.kill();
	await allGone([...host.pids, pid]);
	expect(isAlive(copy)).toBe(true);
	const next = await hostUp({ dataDirs: [dataDir], commands: [shell(SLEEPS)] });
	expect(await next.event("protection.run_settled")).toMatchObject({
		killed: host.pids.length + 1,
	});
});

test("children that left the group go too: by their marker, or because their parent was known", async () => {
	const dataDir = temporaryDirectory();
	const mark = `SEEN=${dataDir}`;
	const host = await hostUp({
		dataDirs: [dataDir],
		commands: [
			[
				"/bin/sh",
				"-c",
				`setsid sh -c 'trap "" TERM; echo up; sleep 100000' ${mark} & wait`,
			],
			[
				"/bin/sh",
				"-c",
				`setsid env -i ${mark} sh -c 'echo up; while :; do sleep 100000; done' ${mark} & wait`,
			],
		],
	});
	const { pid } = await host.event("protection.started");
	const { runId } = await host.event("run.started");
	const escaped = carrying(mark).filter((pid) => !host.pids.includes(pid));
	host.watch(escaped);
	expect(escaped.length).toBeGreaterThanOrEqual(2);
	host.kill();
	// It looks for what was forked in the last instant until it ends itself.
	await allGone([...host.pids, ...escaped, pid]);
	expect(carrying(`SNAKEPIT_RUN=${runId}:`)).toEqual([]);
});

test("a host that is killed in the turn in which a worker is recorded has reported it", async () => {
	const dataDir = temporaryDirectory();
	const mark = `SEEN=${dataDir}`;
	// In the place of the recorded process: a program without a marker.
	const host = new Host({
		dataDirs: [dataDir],
		commands: [["/usr/bin/env", "-i", mark, "sleep", "100000"]],
		diesAtRecord: true,
	});
	const { pid } = await host.event("protection.started");
	await host.ended();
	await eventually("the watchdog's end", () => !isAlive(pid));
	expect(carrying(mark)).toEqual([]);
	const next = await hostUp({ dataDirs: [dataDir], commands: [shell(SLEEPS)] });
	expect(await next.event("protection.process_killed")).toMatchObject({
		protection: "watchdog",
		foundBy: "reported",
	});
	expect(next.events("protection.process_killed").length).toBe(1);
});

// A host each, one after the other.
test("a host that is killed at any moment of its start leaves nothing", {
	timeout: 120_000,
}, async () => {
	// A different moment each time: no event marks the steps of a host's start.
	for (const ms of rows([0, 4, 8, 16, 32], (ms) => ms === 0 || ms === 8)) {
		const dataDir = temporaryDirectory();
		const mark = `SEEN=${dataDir}`;
		const host = new Host({
			dataDirs: [dataDir],
			commands: Array.from({ length: 4 }, () => [
				"/usr/bin/env",
				mark,
				"sleep",
				"100000",
			]),
		});
		const { pid } = await host.event("protection.started");
		await new Promise((resolve) => setTimeout(resolve, ms));
		host.kill();
		await host.ended();
		await eventually("the watchdog's end", () => !isAlive(pid));
		expect(carrying(mark)).toEqual([]);
	}
});

test("a stopped host is not dead, and neither are its workers", async () => {
	const host = await hostUp({
		dataDirs: [temporaryDirectory()],
		commands: [shell(SLEEPS)],
		options: { checkIntervalMs: 10 },
	});
	const { pid } = await host.event("protection.started");
	host.kill("SIGSTOP");
	await anotherWatchdogKills({ options: { checkIntervalMs: 10 } });
	expect(host.pids.map(isAlive)).toEqual([true]);
	expect(isAlive(pid)).toBe(true);
	host.kill("SIGCONT");
	host.order("close");
	await host.until("closed");
});

test("workers are killed even if the ledger was removed", async () => {
	const dataDir = temporaryDirectory();
	const host = await hostUp({ dataDirs: [dataDir], commands: [shell(SLEEPS)] });
	const { pid } = await host.event("protection.started");
	rmSync(dataDir, { recursive: true });
	host.kill();
	await allGone([...host.pids, pid]);
	expect(existsSync(dataDir)).toBe(false);
});

test("with a grace a worker that leaves on SIGTERM may do so", async () => {
	const dataDir = temporaryDirectory();
	const note = `${dataDir}/left`;
	const host = await hostUp({
		dataDirs: [dataDir],
		commands: [
			node(
				`process.once("SIGTERM", () => {
					require("node:fs").writeFileSync(${JSON.stringify(note)}, "");
					process.exit();
				});`,
			),
		],
		options: { graceMs: 5_000 },
	});
	const { pid } = await host.event("protection.started");
	host.kill();
	await allGone([...host.pids, pid]);
	expect(existsSync(note)).toBe(true);
	const next = await hostUp({ dataDirs: [dataDir], commands: [shell(SLEEPS)] });
	expect(await next.event("protection.process_killed")).toMatchObject({
		pid: host.pids[0],
		signal: "SIGTERM",
	});
});
