import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createPool } from "../../src/index.ts";
import { EventRecorder } from "../../src/testing.ts";
import { CAPITALS } from "./capitals.ts";

test("a pool works through the guard, heals, and leaves no guard behind", async () => {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
	onTestFinished(() => rmSync(dataDir, { recursive: true }));
	const events = new EventRecorder();
	const pool = await createPool({
		adapter: CAPITALS,
		size: { min: 2, max: 2 },
		dataDir,
		guard: "required",
		onEvent: events.record,
	});
	expect(await pool.execute("hello", undefined)).toBe("HELLO");
	expect(events.of("worker.spawned").map(({ source }) => source)).toEqual([
		"guard",
		"guard",
	]);
	const { pid } = events.of("protection.started")[0] ?? { pid: 0 };
	process.kill(pid, "SIGKILL");
	await events.waitFor("protection.started", ({ restarts }) => restarts === 1);
	expect(await pool.execute("again", undefined)).toBe("AGAIN");
	await pool.close();
	expect(events.of("protection.ended").map(({ how }) => how)).toEqual([
		"lost",
		"released",
	]);
});

test.runIf(process.platform === "linux")(
	"a guard has this program's environment, without the marks by which descendants of workers are found",
	async () => {
		const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
		onTestFinished(() => rmSync(dataDir, { recursive: true }));
		vi.stubEnv("SNAKEPIT_OF_OURS", "kept");
		// As a program has them that was itself started by a worker.
		vi.stubEnv("SNAKEPIT_RUN", "another run");
		vi.stubEnv("SNAKEPIT_WORKER", "another worker");
		onTestFinished(() => void vi.unstubAllEnvs());
		const events = new EventRecorder();
		await using _pool = await createPool({
			adapter: CAPITALS,
			size: 1,
			dataDir,
			guard: "required",
			onEvent: events.record,
		});
		const { pid } = events.of("protection.started")[0] ?? { pid: 0 };
		const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
		expect(environment).toContain("SNAKEPIT_OF_OURS=kept");
		expect(environment).not.toContain("another");
	},
);
