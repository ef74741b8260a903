import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { StartError } from "../../src/contract/errors.ts";
import { debuggerAttached } from "../../src/os/debugger.ts";
import {
	pauseSync,
	systemClock,
	systemRandom,
} from "../../src/os/system-clock.ts";
import {
	assertPermitted,
	assertPlatform,
	readMachineId,
} from "../../src/os/this-machine.ts";

const OS = join(import.meta.dirname, "../../src/os");

/** Runs a program and returns what it printed. */
function run(script: string, ...flags: readonly string[]): string {
	return execFileSync(
		process.execPath,
		[...flags, "--input-type=module", "-e", script],
		{
			encoding: "utf8",
			timeout: 20_000,
			stdio: ["ignore", "pipe", "ignore"],
		},
	);
}

test("neither a worker, nor its pipes, nor a lifeline, nor a timer keeps the program running", () => {
	const printed = run(`
		import { SystemProcessHost } from "${OS}/this-machine.ts";
		import { systemClock } from "${OS}/system-clock.ts";
		import { mkdtempSync, rmSync } from "node:fs";
		const host = new SystemProcessHost();
		const worker = await host.source.start(
			{ executable: "sleep", args: ["100000"], env: { ...process.env }, cwd: undefined, stdin: "pipe", control: true },
			() => {},
		);
		worker.stdout.on("data", () => {});
		worker.stderr.on("data", () => {});
		worker.control.on("data", () => {});
		const directory = mkdtempSync("/tmp/snakepit-test-");
		const release = host.keepAlive();
		await host.listenLifeline(directory + "/l");
		release();
		systemClock.after(1e9, () => {});
		process.on("exit", () => {
			worker.signal("SIGKILL", "group");
			rmSync(directory, { recursive: true });
			console.log("ended by itself");
		});
	`);
	expect(printed).toBe("ended by itself\n");
});

test("the program stays open until the last holder releases it", () => {
	const printed = run(`
		import { KeepAlive } from "${OS}/this-program.ts";
		import { systemClock } from "${OS}/system-clock.ts";
		const alive = new KeepAlive();
		const [a, b] = [alive.hold(), alive.hold()];
		a();
		a();
		systemClock.after(50, () => { console.log("timer"); b(); });
	`);
	expect(printed).toBe("timer\n");
});

test("a debugger that may attach is reported", () => {
	expect(debuggerAttached()).toBe(false);
	const script = `import { debuggerAttached } from "${OS}/debugger.ts"; console.log(debuggerAttached());`;
	expect(run(script, "--inspect=127.0.0.1:0")).toBe("true\n");
});

test("a timer can be cancelled, and a delay beyond Node's own limit is not at once", async () => {
	const fired: string[] = [];
	systemClock.after(0, () => fired.push("cancelled")).cancel();
	const far = systemClock.after(2 ** 40, () => fired.push("far"));
	await new Promise((resolve) => setTimeout(resolve, 5));
	expect(fired).toEqual([]);
	far.cancel();
	const before = systemClock.now();
	pauseSync(3);
	expect(systemClock.now() - before).toBeGreaterThanOrEqual(2);
	expect(Math.abs(systemClock.wall() - Date.now())).toBeLessThan(1_000);
});

test("chance is from 0 to 1, and a token has 256 bits", () => {
	const fractions = Array.from({ length: 1_000 }, () =>
		systemRandom.fraction(),
	);
	expect(Math.min(...fractions)).toBeGreaterThanOrEqual(0);
	expect(Math.max(...fractions)).toBeLessThan(1);
	expect(new Set(fractions).size).toBeGreaterThan(990);
	expect(systemRandom.token()).toMatch(/^[0-9a-f]{64}$/);
	expect(systemRandom.token()).not.toBe(systemRandom.token());
});

test("the machine has the same name in every program, and it is not the confidential one", () => {
	const id = readMachineId();
	expect(id).toMatch(/^[0-9a-f]{16}$/);
	expect(
		run(
			`import { readMachineId } from "${OS}/this-machine.ts"; console.log(readMachineId());`,
		),
	).toBe(`${id}\n`);
	const { stdout } = spawnSync("cat", ["/etc/machine-id"], {
		encoding: "utf8",
	});
	expect(stdout.includes(id)).toBe(false);
});

test("pools are for Linux and macOS; elsewhere starting one is a clear error", () => {
	assertPlatform("linux");
	assertPlatform("darwin");
	expect(() => assertPlatform("win32")).toThrow(
		expect.objectContaining({
			code: "PLATFORM_UNSUPPORTED",
			message: expect.stringContaining("WSL"),
		}),
	);
	expect(() => assertPlatform("aix")).toThrow(StartError);
});

test("a program is told which permissions it lacks for pools, of those that its version of Node has", () => {
	const flags = new Set([
		...["--allow-child-process", "--allow-addons"],
		...["--allow-fs-read", "--allow-fs-write"],
	]);
	const without =
		(...lacking: readonly string[]) =>
		() =>
			assertPermitted({ has: (scope) => !lacking.includes(scope) }, flags);
	assertPermitted(undefined, flags);
	expect(without("net")).not.toThrow();
	for (const [scope, flag] of [
		["child", "--allow-child-process"],
		["addon", "--allow-addons"],
		["fs.write", "--allow-fs-write=/dev/null"],
	] as const)
		expect(without(scope)).toThrow(
			expect.objectContaining({
				code: "PERMISSION_MISSING",
				message: expect.stringContaining(`without ${flag}, which`),
			}),
		);
	expect(without("child", "addon")).toThrow(
		"without --allow-child-process, --allow-addons, which pools need. Add these flags",
	);
});
