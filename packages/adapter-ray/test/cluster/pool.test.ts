import { expect, test } from "vitest";
import {
	hasCluster,
	needsCluster,
	sharedCluster,
} from "../../../../scripts/ray/test-cluster.ts";
import { rayPool, START_MS, toolsOf } from "./ray-pool.ts";

const TOOLS = `
import os, socket
from snakepit_bridge import tool

@tool
def echo(value: object) -> object:
    return value

@tool
def where() -> dict[str, object]:
    return {"pid": os.getpid(), "cwd": os.getcwd()}
`;

test.skipIf(!hasCluster)(
	`a worker on a node answers as one of this machine does${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const cluster = await sharedCluster();
		const { pool, events } = await rayPool(cluster, toolsOf(cluster, TOOLS));
		expect(await pool.execute("echo", { value: [1, "x", null] })).toEqual([
			1,
			"x",
			null,
		]);
		const { pid } = (await pool.execute("where")) as { pid: number };
		expect(pool.workers().map((worker) => worker.pid)).not.toContain(pid);
		await pool.close();
		expect(events.of("worker.exited")).toMatchObject([
			{ reason: "closed", exit: { kind: "code", code: 0 } },
		]);
		expect(events.of("companion.ended")).toMatchObject([
			{ how: "released", exit: { kind: "code", code: 0 } },
		]);
	},
);
