/** Which runs can be attached to, and who may. */
import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { attach } from "@snakepit/control";
import { expect, onTestFinished, test, vi } from "vitest";
import { listenForControl } from "../../src/os/listeners.ts";
import { EventHub } from "../../src/pool/observe/event-hub.ts";
import { openRun } from "../../src/run/open-run.ts";
import { RunControl } from "../../src/run/run-control.ts";
import { EventRecorder } from "../../src/testing.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

test("each way of turning control off leaves nothing to attach to", async () => {
	const dataDir = temporaryDirectory();
	const attached = async (): Promise<unknown> =>
		attach({ dataDir }).then(
			(client) => client.run.runId,
			({ code }) => code,
		);
	onTestFinished(() => void vi.unstubAllEnvs());
	for (const [control, production, variable, isOn] of [
		[undefined, "production", undefined, true],
		[undefined, "production", "0", false],
		[undefined, "test", undefined, true],
		[true, "production", undefined, true],
		[true, "test", "0", false],
		[false, "test", undefined, false],
	] as const) {
		vi.stubEnv("NODE_ENV", production);
		vi.stubEnv("SNAKEPIT_CONTROL", variable);
		await using run = await openRun({ dataDir, control });
		expect(await attached()).toBe(isOn ? run.runId : "NO_SUCH_RUN");
	}
	vi.stubEnv("SNAKEPIT_CONTROL", "yes");
	await expect(openRun({ dataDir })).rejects.toMatchObject({
		code: "INVALID_OPTION",
	});
});

test("several runs are listed, and the beginning of an id names one", async () => {
	const dataDirs = [temporaryDirectory(), temporaryDirectory()];
	const runs = await Promise.all(
		dataDirs.map((dataDir) => openRun({ dataDir, control: true })),
	);
	onTestFinished(async () => {
		for (const run of runs) await run.close();
	});
	await expect(attach()).rejects.toMatchObject({ code: "SEVERAL_RUNS" });
	for (const wrong of [{ run: "" }, { silentMs: 0 }, { runs: "a" }])
		await expect(attach(wrong as object)).rejects.toMatchObject({
			code: "INVALID_OPTION",
		});
	for (const { runId } of runs)
		expect((await attach({ run: runId })).run.runId).toBe(runId);
	await expect(attach({ run: "zzzzzzzz" })).rejects.toMatchObject({
		code: "NO_SUCH_RUN",
		message: expect.stringContaining(runs[0]?.runId ?? "?"),
	});
});

test("where the record of a run cannot be written nothing listens", async () => {
	const directory = temporaryDirectory();
	writeFileSync(join(directory, "control.json"), "");
	await expect(
		listenForControl(directory, {}, () => expect.unreachable()),
	).rejects.toMatchObject({ code: "EEXIST" });
	expect(existsSync(join(directory, "control.sock"))).toBe(false);
});

test("a run that cannot listen goes on without, and says why", async () => {
	const hub = new EventHub();
	const { events, record } = new EventRecorder();
	hub.subscribe(record);
	await using run = await openRun({ dataDir: temporaryDirectory() });
	const { clock, random } = run.infrastructure;
	const control = new RunControl({
		...{
			hub,
			clock,
			random,
			dataDir: run.dataDir,
			protections: () => [],
			unwritten: () => 0,
		},
		record: () => run.registry.record,
		failedCalls: () => [],
		runDirectory: join(run.dataDir, "nowhere"),
		program: { name: "a test", node: "", snakepit: "" },
		scopes: ["read"],
	});
	await control.listen();
	control.close();
	expect(events).toMatchObject([
		{
			...{ type: "control.unavailable", runId: run.runId },
			reason: expect.stringContaining("nowhere"),
		},
	]);
});

test("a run that ends while it begins to listen is not listened for any more", async () => {
	await using run = await openRun({
		dataDir: temporaryDirectory(),
		control: false,
	});
	const { clock, random, runDirectory } = run.infrastructure;
	const control = new RunControl({
		...{ hub: new EventHub(), clock, random, dataDir: run.dataDir },
		...{ runDirectory, protections: () => [], unwritten: () => 0 },
		record: () => run.registry.record,
		failedCalls: () => [],
		program: { name: "a test", node: "", snakepit: "" },
		scopes: ["read"],
	});
	const listening = control.listen();
	control.close();
	await listening;
	await expect(attach({ dataDir: run.dataDir })).rejects.toMatchObject({
		code: "NO_SUCH_RUN",
	});
});

test.runIf(process.getuid?.() === 0)(
	"another user can neither connect nor read the token",
	async () => {
		const dataDir = temporaryDirectory();
		await using run = await openRun({ dataDir, control: true });
		const { runDirectory } = run.infrastructure;
		const { stdout } = spawnSync(
			process.execPath,
			[
				"--input-type=module",
				"--eval",
				`import { readFileSync } from "node:fs";
				import { connect } from "node:net";
				process.setgroups([]);
				process.setgid(65534);
				process.setuid(65534);
				try { readFileSync(process.argv[1] + "/control.json"); } catch ({ code }) { console.log(code); }
				connect(process.argv[1] + "/control.sock").on("error", ({ code }) => console.log(code));`,
				runDirectory,
			],
			{ encoding: "utf8", cwd: "/" },
		);
		expect(stdout).toBe("EACCES\nEACCES\n");
	},
);
