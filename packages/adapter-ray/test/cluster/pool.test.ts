import { readHistory } from "@snakepit/core/inspect";
import { expect, test } from "vitest";
import {
	hasCluster,
	hasClusterInCheck,
	needsCluster,
	sharedCluster,
} from "../../../../scripts/ray/test-cluster.ts";
import { rayPython } from "../../src/index.ts";
import { rayPool, START_MS, toolsOf } from "./ray-pool.ts";

const TOOLS = `
import os, time
from snakepit_bridge import tool

@tool
def echo(value: object) -> object:
    return value

@tool
def where() -> dict[str, object]:
    return {"pid": os.getpid(), "traced": os.environ.get("FAR")}

@tool
def sleep(seconds: float) -> None:
    time.sleep(seconds)

@tool
def compute(seconds: float) -> float:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return seconds

@tool
def fail() -> None:
    raise ValueError("the paper is jammed")
`;

test.skipIf(!hasCluster)(
	`a worker on a node does what one of this machine does${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const cluster = await sharedCluster();
		const { pool, events, dataDir } = await rayPool(
			cluster,
			toolsOf(cluster, TOOLS),
			{ heartbeat: { intervalMs: 1_000 } },
			{ env: { FAR: "away" } },
		);
		expect(await pool.execute("echo", { value: [1, "x", null] })).toEqual([
			1,
			"x",
			null,
		]);
		const [worker] = pool.workers();
		const { pid, traced } = (await pool.execute("where")) as {
			pid: number;
			traced: string;
		};
		expect(pid).not.toBe(worker?.pid);
		expect(traced).toBe("away");
		expect(worker).toMatchObject({
			location: { address: expect.stringMatching(/^127\.0\.0\.\d+$/) },
			facts: { ray: expect.stringMatching(/^\d+\.\d+/) },
		});
		expect(events.of("worker.ready")).toMatchObject([
			{ location: worker?.location },
		]);

		const bytes = new Uint8Array(8 * 1024 * 1024).map((_, at) => at % 251);
		const large = (await pool.execute("echo", { value: bytes })) as Uint8Array;
		expect(Buffer.compare(large, bytes)).toBe(0);

		await expect(pool.execute("fail")).rejects.toMatchObject({
			name: "ToolError",
			remote: {
				type: "ValueError",
				message: "the paper is jammed",
				traceback: expect.stringContaining("tools.py"),
			},
		});

		const begunMs = performance.now();
		await expect(
			pool.execute("sleep", { seconds: 600 }, { timeoutMs: 1_000 }),
		).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
		const session = pool.session({ affinity: "strict" });
		expect(((await session.execute("where")) as { pid: number }).pid).toBe(pid);
		expect(performance.now() - begunMs).toBeLessThan(60_000);

		await pool.close();
		expect(events.of("worker.exited")).toMatchObject([
			{ reason: "closed", exit: { kind: "code", code: 0 } },
		]);
		expect(events.of("companion.ended")).toMatchObject([
			{ how: "released", exit: { kind: "code", code: 0 } },
		]);
		// The ledger has the node.
		expect(events.of("registry.degraded")).toEqual([]);
		const [run] = await Array.fromAsync(readHistory({ dataDir }));
		expect(run?.workers).toContainEqual(
			expect.objectContaining({ location: worker?.location, status: "ended" }),
		);
	},
);

test.skipIf(!hasCluster)(
	`a pool grows to one worker on each of three nodes, and shrinks to one again${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const cluster = await sharedCluster();
		const { pool, events } = await rayPool(cluster, toolsOf(cluster, TOOLS), {
			size: { min: 1, max: 3, idleMs: 1_000 },
		});
		const third = events.next(
			"worker.ready",
			() => events.of("worker.ready").length === 3,
			START_MS,
		);
		const stop = new AbortController();
		const calls = Array.from({ length: 3 }, () =>
			pool
				.execute("sleep", { seconds: 600 }, { signal: stop.signal })
				.catch((error) => error.code),
		);
		await third;
		const addresses = events
			.of("worker.ready")
			.map(({ location }) => location?.address);
		expect(new Set(addresses).size).toBe(3);
		stop.abort();
		expect(await Promise.all(calls)).toEqual(Array(3).fill("CALL_ABORTED"));
		await events.waitFor(
			"worker.exited",
			() => events.of("worker.exited").length === 2,
			START_MS,
		);
		expect(pool.statistics().workers.ready).toBe(1);
		await pool.close();
	},
);

// It starts a worker on each node, one after the other.
test.skipIf(!hasClusterInCheck)(
	`doctor sees that on every node nothing outlives its worker${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const cluster = await sharedCluster();
		const { python } = cluster.options;
		const tools = toolsOf(cluster, TOOLS);
		const { address } = cluster;
		const report = await rayPython({ python, tools, address }).inspect?.();
		expect(report).toMatchObject({ layer: "ray-python", status: "available" });
		expect(report?.detail.split("; ")).toHaveLength(cluster.nodes.length);
	},
);
