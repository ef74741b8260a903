import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { readHistory } from "@snakepit/core/inspect";
import { expect, onTestFinished, test } from "vitest";
import {
	hasCluster,
	needsCluster,
	sharedCluster,
} from "../../../../scripts/ray/test-cluster.ts";
import {
	rayPool,
	START_MS,
	toolsOf,
} from "../../../adapter-ray/test/cluster/ray-pool.ts";
import { privateLink } from "../../src/dash/dash.ts";
import { builtPage, dashboardOf } from "../dash/dashboards.ts";
import { hasChromium, startChromium } from "../dash/opened-page.ts";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";

const TOOLS = `
import os
from snakepit_bridge import tool

@tool
def pid() -> int:
    return os.getpid()
`;

test.skipIf(!hasCluster)(
	`top, history and the dashboard name the node of each worker${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const cluster = await sharedCluster();
		const { pool, dataDir } = await rayPool(cluster, toolsOf(cluster, TOOLS), {
			size: 2,
			control: { scopes: ["read", "call"] },
		});
		const snakepit = async (...args: readonly string[]): Promise<string> => {
			const [program, ...before] = SNAKEPIT_IN_NODE;
			const all = [...before, ...args, "--data-dir", dataDir];
			return (await promisify(execFile)(program, all)).stdout;
		};
		const nodes = pool.workers().map(({ location }) => location);
		expect(new Set(nodes.map((location) => location?.address)).size).toBe(2);
		const [one] = nodes;
		const name = one?.name;
		const addresses = nodes.map((location) => location?.address ?? "");
		const pids = await Promise.all(
			Array.from({ length: 8 }, () => pool.execute("pid")),
		);

		const top = await snakepit("top", "--once");
		for (const number of [0, 1])
			expect(top).toMatch(
				new RegExp(
					`far-${number} on ${name} \\(${addresses[number]}\\) .*\\b${nodes[number]?.pid}\\b`,
				),
			);
		// Those of the workers, and not of their stand-ins.
		expect(nodes.map((location) => location?.pid)).toEqual(
			expect.arrayContaining([...new Set(pids)]),
		);

		if (hasChromium) {
			const server = await dashboardOf(dataDir, await builtPage());
			onTestFinished(() => server.close());
			const browser = await startChromium();
			onTestFinished(() => browser.close());
			const page = await browser.newPage();
			const link = privateLink(server.url);
			await page.goto(`file://${link.file}`);
			link.remove();
			await page.locator("tr[data-worker=far-1]").waitFor();
			for (const number of [0, 1])
				expect(
					await page.locator(`tr[data-worker=far-${number}] th`).textContent(),
				).toBe(`far-${number} on ${name} (${addresses[number]})`);
		}

		await pool.close();
		const [run] = await Array.fromAsync(readHistory({ dataDir }));
		const workers = run?.workers.filter(({ workerId }) =>
			/-\d$/.test(workerId),
		);
		expect(workers?.map(({ location }) => location)).toEqual(nodes);
		expect(await snakepit("history")).toMatch(/ 2 +closed in order$/m);
	},
);
