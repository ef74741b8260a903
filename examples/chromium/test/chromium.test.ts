import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { createPool } from "@snakepit/core";
import { adapterContract, startForReal } from "@snakepit/core/testing";
import { describe, expect, test } from "vitest";
import {
	LinuxProc,
	type TableEntry,
} from "../../../packages/core/src/os/process-table.ts";
import { markedHost } from "../../../scripts/marked-host.ts";
import { temporaryDirectory } from "../../../scripts/test-data-directory.ts";
import { isThorough } from "../../../scripts/test-effort.ts";
import { chromium } from "../src/chromium-adapter.ts";
import { hasChromium, IN_A_TEST } from "./browsers.ts";

const TITLE = "data:text/html,<title>here</title>";

/** The living processes of these groups. */
function membersOf(groups: ReadonlySet<number>): readonly TableEntry[] {
	return new LinuxProc()
		.entries()
		.filter(
			({ groupId, condition }) => groups.has(groupId) && condition !== "zombie",
		);
}

describe.skipIf(process.platform !== "linux" || !hasChromium())(
	"with chromium, which is installed,",
	() => {
		// In `test` the tests below start a browser, call it and end it.
		describe.runIf(isThorough())(
			"its adapter keeps the adapter contract",
			() => {
				const contract = adapterContract({
					adapter: () => chromium(IN_A_TEST),
					start: (adapter) => startForReal(adapter),
					// Its first start on a machine that is busy with other tests has taken more than 25 seconds.
					withinMs: 100_000,
					commands: {
						echo: {
							command: "Target.setDiscoverTargets",
							args: { discover: true },
							result: {},
						},
					},
				});
				test.each(contract)("$title", { timeout: 120_000 }, ({ run }) => run());
			},
		);

		test("a task leases a browser, and another one after its death, of which nothing is left", async () => {
			await using pool = await createPool({
				...{ adapter: chromium(IN_A_TEST), size: 1 },
				...{ dataDir: temporaryDirectory(), output: { echo: "none" } },
			});
			const title = () =>
				pool.use(async (browser) => {
					await using context = await browser.newContext();
					const page = await context.newPage();
					await page.goto(TITLE);
					return await page.title();
				});
			expect(await title()).toBe("here");
			const [{ pid = 0, facts } = {}] = pool.workers();
			expect(facts).toEqual({ version: expect.stringMatching(/^\d+\./) });
			await expect(pool.execute("Browser.crash")).rejects.toMatchObject({
				name: "WorkerLostError",
			});
			expect(await title()).toBe("here");
			expect(pool.workers()[0]?.pid).not.toBe(pid);
			expect(membersOf(new Set([pid]))).toEqual([]);
		}, 120_000);

		test("every process of its browser is gone when the host is killed", async () => {
			await using host = await markedHost(
				join(import.meta.dirname, "host-program.ts"),
				[temporaryDirectory(), ...IN_A_TEST],
			);
			// Renderers write over their environment: they are found by their group.
			const groups = new Set(host.living().map(({ groupId }) => groupId));
			expect(membersOf(groups).length).toBeGreaterThan(4);
			expect(await host.kill(10_000)).toEqual([]);
			await expect
				.poll(() => membersOf(groups), { timeout: 10_000 })
				.toEqual([]);
		});

		test.runIf(isThorough())(
			"the main program reads its pages and ends by itself",
			async () => {
				const main = join(import.meta.dirname, "../src/main.ts");
				const { stdout } = await promisify(execFile)(
					process.execPath,
					["--conditions=snakepit-source", main],
					{ env: { ...process.env, XDG_STATE_HOME: temporaryDirectory() } },
				);
				expect(stdout).toBe("One Two Three Four\n");
			},
		);
	},
);
