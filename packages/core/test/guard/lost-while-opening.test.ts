import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import { createPool, type SnakepitEvent } from "../../src/index.ts";
import { EventRecorder } from "../../src/testing.ts";
import { CAPITALS } from "./capitals.ts";

const isLinux = process.platform === "linux";

/** The first so many workers never get ready; those after them are as they should be. */
function firstNeverReady(count: number): Adapter {
	let launched = 0;
	return {
		...CAPITALS,
		launch: (slot, signal) =>
			launched++ < count
				? {
						executable: "sh",
						args: ["-c", "exec sleep 100000"],
						launchPayload: {},
					}
				: CAPITALS.launch(slot, signal),
	};
}

function parentOf(pid: number): number {
	const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
	return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

/** How far above a worker each of the guards is. */
const GUARDS = { inner: 1, middle: 2, outer: 3 } as const;

function guardAbove(worker: number, which: keyof typeof GUARDS): number {
	let pid = worker;
	for (let level = 0; level < GUARDS[which]; level++) pid = parentOf(pid);
	return pid;
}

/** A pool whose guard is killed whenever one of the first workers was spawned below it. */
async function openedWhileLost(
	kills: number,
	which: keyof typeof GUARDS,
	guard: "auto" | "required" = "auto",
) {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
	onTestFinished(() => rmSync(dataDir, { recursive: true }));
	const events = new EventRecorder();
	let killed = 0;
	const onEvent = (event: SnakepitEvent): void => {
		events.record(event);
		if (event.type !== "worker.spawned" || killed === kills) return;
		killed++;
		process.kill(guardAbove(event.pid, which), "SIGKILL");
	};
	const pool = createPool({
		...{ adapter: firstNeverReady(kills), size: 1, dataDir, guard, onEvent },
		output: { echo: "none" },
	});
	return { pool, events };
}

test.runIf(isLinux).each([
	[
		"inner",
		/^its inner process, which forks the workers, was killed by a signal/,
	],
	["middle", /^its middle process was killed by a signal/],
	["outer", /^its outer process was killed by SIGKILL/],
] as const)(
	"a pool whose %s guard is killed while it opens starts that worker again below another guard, and says which one was lost",
	async (which, loss) => {
		const { pool: opening, events } = await openedWhileLost(1, which);
		await using pool = await opening;
		expect(await pool.execute("hello", undefined)).toBe("HELLO");
		expect(events.of("worker.start_failed")).toMatchObject([
			{
				error: {
					code: "START_WITHDRAWN",
					message: expect.stringContaining(
						"because the guard that had forked it was lost",
					),
				},
			},
		]);
		expect(events.of("worker.spawned").map(({ source }) => source)).toEqual([
			...["guard", "guard"],
		]);
		expect(events.of("protection.ended")).toMatchObject([
			{ how: "lost", loss: expect.stringMatching(loss) },
		]);
	},
	30_000,
);

test.runIf(isLinux)(
	"a pool whose guards are killed again and again while it opens has its worker without one",
	async () => {
		const { pool: opening, events } = await openedWhileLost(3, "inner");
		await using pool = await opening;
		expect(await pool.execute("hello", undefined)).toBe("HELLO");
		expect(events.of("worker.spawned").map(({ source }) => source)).toEqual([
			...["guard", "guard", "guard", "node"],
		]);
	},
	30_000,
);

test.runIf(isLinux)(
	"a pool that requires a guard does not open where they are killed again and again, and says so",
	async () => {
		const { pool } = await openedWhileLost(3, "inner", "required");
		await expect(pool).rejects.toMatchObject({
			code: "SPAWN_FAILED",
			message: expect.stringMatching(/3 guards in a row were lost/),
		});
	},
	30_000,
);
