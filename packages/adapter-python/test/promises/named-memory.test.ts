import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openRun } from "@snakepit/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { testPool } from "../../../../scripts/test-pool.ts";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";
import { startHost } from "./host-process.ts";

const tools = new URL("./named_memory.py", import.meta.url);
const SHARED = "/dev/shm";

function present(names: readonly string[]): readonly string[] {
	const there = readdirSync(SHARED);
	return names.filter((name) => there.includes(name));
}

/** Shared memory of a program that is none of ours; removed after the test. */
function ofStranger(): string {
	const name = `psm_test_${process.pid}_${Math.random().toString(36).slice(2)}`;
	writeFileSync(join(SHARED, name), "a stranger's", { flag: "wx" });
	onTestFinished(() => rmSync(join(SHARED, name), { force: true }));
	return name;
}

describe.skipIf(!existsSync(SHARED)).each(["off", "tools"] as const)(
	"preload: %s",
	(preload) => {
		async function opened() {
			const { pool, events } = await testPool({
				adapter: python({ tools, python: PYTHON, preload }),
				calls: { cancelGraceMs: 100 },
			});
			const stranger = ofStranger();
			await pool.execute("attach", { name: stranger });
			const handedOn = (await pool.execute("hand_on")) as string;
			onTestFinished(() => rmSync(join(SHARED, handedOn), { force: true }));
			const named = (await pool.execute("leave")) as readonly string[];
			expect(present(named)).toHaveLength(2);
			return { pool, events, named, spared: [stranger, handedOn] };
		}

		test("what a worker that is killed has named with multiprocessing goes with it, and nothing else does", async () => {
			const { pool, events, named, spared } = await opened();
			process.kill(pool.workers()[0]?.pid ?? 0, "SIGKILL");
			await events.waitFor("worker.exited");
			expect(present(named)).toEqual([]);
			expect(present(spared)).toEqual(spared);
			await pool.close();
			expect(present(spared)).toEqual(spared);
		});

		test("the same for a worker that does not obey a cancel", async () => {
			const { pool, events, named, spared } = await opened();
			const call = pool.execute("stuck", {}, { timeoutMs: 200 });
			await expect(call).rejects.toMatchObject({ ran: "maybe" });
			await events.waitFor("worker.exited");
			expect(present(named)).toEqual([]);
			expect(present(spared)).toEqual(spared);
		});

		test("the same for what joblib names, which is loky's and has directories", async () => {
			const { pool, events, named, spared } = await opened();
			const more = (await pool.execute("leave_with_joblib")) as string[];
			expect(more.some((name) => name.startsWith("sem.loky-"))).toBe(true);
			expect(more.some((name) => name.startsWith("joblib_"))).toBe(true);
			expect(present(more)).toHaveLength(more.length);
			process.kill(pool.workers()[0]?.pid ?? 0, "SIGKILL");
			await events.waitFor("worker.exited");
			expect(present([...named, ...more])).toEqual([]);
			expect(present(spared)).toEqual(spared);
		});

		test("what the workers of a killed host have named is removed by the next start", async () => {
			const dataDir = temporaryDirectory();
			const host = startHost(new URL("./host.ts", import.meta.url), {
				...{ dataDir, size: 1, first: "leave" },
				adapter: { preload, tools: tools.pathname },
			});
			const [named] = (await host.reported("first")) as readonly string[][];
			expect(present(named ?? [])).toHaveLength(2);
			await host.reported("ready");
			await host.kill();
			const run = await openRun({ dataDir });
			await run.close();
			expect(present(named ?? [])).toEqual([]);
		});
	},
);
