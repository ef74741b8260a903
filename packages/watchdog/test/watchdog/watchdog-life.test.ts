import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { rows } from "../../../../scripts/test-effort.ts";
import {
	allGone,
	anotherWatchdogKills,
	carrying,
	eventually,
	Host,
	hostUp,
	isAlive,
	machine,
	shell,
	temporaryDirectory,
} from "./hosts.ts";

const SLEEPS = "while :; do sleep 100000; done";

test("two pools in two data directories have one watchdog, and it ends both", async () => {
	const host = await hostUp({
		dataDirs: [temporaryDirectory(), temporaryDirectory()],
		commands: [shell(SLEEPS)],
	});
	const started = host.events("protection.started");
	expect(started.length).toBe(2);
	expect(new Set(started.map(({ pid }) => pid)).size).toBe(1);
	host.kill();
	await allGone([...host.pids, started[0]?.pid as number]);
});

test("a watchdog has nothing of its host but a pipe, and takes no signal of its host's group", async () => {
	const dataDir = temporaryDirectory();
	const options = { dataDirs: [dataDir], commands: [shell(SLEEPS)] };
	// Descriptors 3 to 20 are inherited by the host, and the last would be passed on by it.
	const host = new Host(options, {
		stdio: Array.from({ length: 18 }, (_, index) =>
			index === 17 ? "pipe" : "ignore",
		),
	});
	await host.until("ready");
	const { pid } = await host.event("protection.started");
	const links = readdirSync(`/proc/${pid}/fd`).map((descriptor) =>
		readlinkSync(`/proc/${pid}/fd/${descriptor}`),
	);
	const ofHost = readdirSync(`/proc/${host.child.pid}/fd`).map((descriptor) =>
		readlinkSync(`/proc/${host.child.pid}/fd/${descriptor}`),
	);
	const common = links.filter(
		(link) => /^(socket|pipe):/.test(link) && ofHost.includes(link),
	);
	expect(common).toEqual([]);
	expect(links.filter((link) => link.startsWith("socket:")).length).toBe(1);
	for (const descriptor of [0, 1, 2])
		expect(readlinkSync(`/proc/${pid}/fd/${descriptor}`)).toBe("/dev/null");
	expect(readlinkSync(`/proc/${pid}/cwd`)).toBe("/");
	const environment = readFileSync(`/proc/${pid}/environ`, "latin1");
	expect(environment).not.toMatch(
		/SNAKEPIT(?!_NODE_ONLY=)|NODE_OPTIONS|HOME|PATH=\//,
	);
	expect(machine.facts(pid)?.groupId).toBe(pid);

	for (const signal of [
		"SIGINT",
		"SIGHUP",
		"SIGTERM",
		"SIGUSR1",
		"SIGUSR2",
		"SIGQUIT",
	] as const)
		process.kill(pid, signal);
	// Of the host's group only the host and what it starts without a session of its own.
	process.kill(-(host.child.pid as number), "SIGKILL");
	await host.ended();
	await allGone([...host.pids, pid]);
});

test("an orderly end leaves no watchdog, and a pool that is opened later has one again", async () => {
	const host = await hostUp({
		dataDirs: [temporaryDirectory()],
		commands: [shell(SLEEPS)],
	});
	const first = await host.event("protection.started");
	host.order("close");
	await host.until("closed");
	expect(await host.event("protection.ended")).toMatchObject({
		pid: first.pid,
		how: "released",
		exit: { kind: "code", code: 0 },
	});
	expect(isAlive(first.pid)).toBe(false);
	host.order("open");
	await host.until("ready", 2);
	const second = await host.event("protection.started", 2);
	expect(second.pid).not.toBe(first.pid);
	host.kill();
	await allGone([...host.pids, second.pid]);
});

test.each(rows(["idle", "exit"], (how) => how === "exit"))(
	"a program that ends by itself (%s) is not held up, and leaves no watchdog",
	async (how) => {
		const host = await hostUp({
			dataDirs: [temporaryDirectory()],
			commands: [shell(SLEEPS)],
		});
		const { pid } = await host.event("protection.started");
		host.order(how);
		await host.ended();
		expect(host.child.exitCode).toBe(how === "exit" ? 7 : 0);
		await allGone([...host.pids, pid]);
	},
);

test("a watchdog that is killed is replaced at once: its loss is reported, and the next one knows everything that is alive", async () => {
	const host = await hostUp({
		dataDirs: [temporaryDirectory()],
		// Nothing but the new one's knowledge finds this worker.
		commands: [["/bin/sh", "-c", "echo up; exec env -i sleep 100000"]],
	});
	const first = await host.event("protection.started");
	process.kill(first.pid, "SIGKILL");
	expect(await host.event("protection.ended")).toMatchObject({
		pid: first.pid,
		how: "lost",
		exit: { kind: "signal", signal: "SIGKILL" },
	});
	const second = await host.event("protection.started", 2);
	expect(second.restarts).toBe(1);
	expect(host.pids.map(isAlive)).toEqual([true]);
	host.kill();
	await allGone([...host.pids, second.pid]);
});

test("a watchdog that dies again and again is started again, later each time", async () => {
	const host = await hostUp({
		dataDirs: [temporaryDirectory()],
		commands: [shell(SLEEPS)],
	});
	for (let death = 1; death <= 5; death++) {
		const { pid, restarts } = await host.event("protection.started", death);
		expect(restarts).toBe(death - 1);
		process.kill(pid, "SIGKILL");
	}
	const { reason } = await host.event("protection.unavailable");
	expect(reason).toMatch(
		/5 times in a row, the last time because it ended by SIGKILL/,
	);
	const { pid } = await host.event("protection.started", 6);
	expect(host.pids.map(isAlive)).toEqual([true]);
	host.kill();
	await allGone([...host.pids, pid]);
});

test("watchdog and host killed together: the next start cleans up", async () => {
	const dataDir = temporaryDirectory();
	const host = await hostUp({ dataDirs: [dataDir], commands: [shell(SLEEPS)] });
	const { pid } = await host.event("protection.started");
	process.kill(pid, "SIGSTOP");
	host.kill();
	process.kill(pid, "SIGKILL");
	await host.ended();
	await eventually("the watchdog's end", () => !isAlive(pid));
	expect(host.pids.map(isAlive)).toEqual([true]);
	await hostUp({ dataDirs: [dataDir], commands: [shell(SLEEPS)] });
	expect(host.pids.map(isAlive)).toEqual([false]);
});

test("a watchdog that is killed in the middle of its work leaves the rest to the next start", async () => {
	const dataDir = temporaryDirectory();
	const host = await hostUp({
		dataDirs: [dataDir],
		commands: [shell(SLEEPS, "trap '' TERM"), shell(`sleep 100000`)],
		options: { graceMs: 60_000 },
	});
	const { pid } = await host.event("protection.started");
	const [stubborn, obedient] = host.pids as [number, number];
	host.kill();
	// It has begun: one left on its SIGTERM, and it waits for the other.
	await allGone([obedient]);
	process.kill(pid, "SIGKILL");
	await eventually("the watchdog's end", () => !isAlive(pid));
	expect(isAlive(stubborn)).toBe(true);
	await hostUp({ dataDirs: [dataDir], commands: [shell(SLEEPS)] });
	expect(isAlive(stubborn)).toBe(false);
});

test("a host that closes the pipe by mistake is watched by looking, and its workers live as long as it does", async () => {
	const dataDir = temporaryDirectory();
	const host = await hostUp({
		dataDirs: [dataDir],
		commands: [shell(SLEEPS)],
		options: { checkIntervalMs: 20 },
		closesThePipe: true,
	});
	const { pid } = await host.event("protection.started");
	await anotherWatchdogKills({
		options: { checkIntervalMs: 20 },
		closesThePipe: true,
	});
	expect([pid, ...host.pids].map(isAlive)).toEqual([true, true]);
	host.kill();
	await allGone([...host.pids, pid]);
	expect(carrying(dataDir)).toEqual([]);
});

test("a thread that ends with open pools ends no worker; its workers end with the program", async () => {
	const host = new Host(
		{
			dataDirs: [temporaryDirectory()],
			commands: [shell(SLEEPS)],
			options: { checkIntervalMs: 20 },
		},
		{ program: "thread-program.ts" },
	);
	await host.until("ready");
	const { pid } = await host.event("protection.started");
	host.order("exit");
	await host.until("closed");
	await anotherWatchdogKills({ options: { checkIntervalMs: 20 } });
	expect([pid, ...host.pids].map(isAlive)).toEqual([true, true]);
	host.kill();
	await allGone([...host.pids, pid]);
});
