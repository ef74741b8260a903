import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { NdArray } from "@snakepit/adapter-python";
import { rayPython } from "@snakepit/adapter-ray";
import type { Pool } from "@snakepit/core";
import {
	type Case,
	type Figures,
	higher,
	lower,
	type Needs,
	type Setting,
} from "../case.ts";
import { openPoolOf } from "../contestants/ours.ts";
import {
	callRepeatedly,
	cpuSecondsOfAll,
	measureLatency,
	measureThroughput,
} from "../measure.ts";
import { SMALL_TEXT } from "./small-calls.ts";
import { itemsPerSecond } from "./streams.ts";

const NODES = 3;
const needs: Needs = { clusterNodes: NODES };
const ITEM_BYTES = 100;
const ARRAY = new Float64Array(1_000_000).fill(1);

/** Not on the node of this program: a call crosses to another one, as it does for plain Ray. */
const FAR = { placement: { node: "127.0.0.3" } } as const;

export const ray: Case = {
	name: "ray",
	title: "Workers on a Ray cluster",
	about: `Three nodes on this machine, connected by loopback, each with an actor or a worker; single calls, the stream of items of ${ITEM_BYTES} bytes and the array go to another node than the caller's.`,
	figures: {
		p50_us: lower("p50, one at a time", "us"),
		p99_us: lower("p99", "us"),
		calls_per_s: higher("3 under way, 3 workers", "calls/s"),
		items_per_s: higher("streamed items", "items/s"),
		array_mb_s: higher("echo of a numpy array of 8 MB", "MB/s"),
		array_cpu_ms: lower("processor time of that echo", "ms"),
	},
	rows: [
		{ name: "plain Ray, called from Python", needs, measure: measurePlain },
		{ name: "ours, rayPython", needs, measure: measureOurs },
	],
};

async function measurePlain({ pace }: Setting): Promise<Figures> {
	const program = fileURLToPath(
		new URL("../python/plain_ray.py", import.meta.url),
	);
	const words = [program, String(pace.warmUpMs), String(pace.measureMs)];
	const { stdout } = await promisify(execFile)(rayInterpreter(), words);
	return JSON.parse(stdout);
}

async function measureOurs({ pace }: Setting): Promise<Figures> {
	const close = { drainMs: 0 };
	const far = await open(1, FAR);
	const latency = await measureLatency(
		() => far.execute("echo", [SMALL_TEXT]),
		pace,
	);
	const items = await itemsPerSecond(
		(count, size) =>
			far.stream("produce", [count, size]) as AsyncIterable<Uint8Array>,
		ITEM_BYTES,
		pace.measureMs,
	);
	const arrays = await echoedArrays(far, pace.measureMs);
	await far.close(close);
	const all = await open(NODES, {});
	const calls = await measureThroughput(
		() => all.execute("echo", [SMALL_TEXT]),
		NODES,
		pace,
	);
	await all.close(close);
	return {
		p50_us: latency["p50_us"] ?? Number.NaN,
		p99_us: latency["p99_us"] ?? Number.NaN,
		calls_per_s: calls,
		items_per_s: items,
		...arrays,
	};
}

function open(
	size: number,
	where: Partial<Parameters<typeof rayPython>[0]>,
): Promise<Pool> {
	return openPoolOf({
		adapter: rayPython({
			python: rayInterpreter(),
			tools: fileURLToPath(new URL("../python/tools.py", import.meta.url)),
			address: process.env["RAY_ADDRESS"] ?? "auto",
			resources: { CPU: 1 },
			...where,
		}),
		size,
		start: { timeoutMs: 120_000 },
	});
}

/** MB a second, both ways added, and processor time. */
async function echoedArrays(pool: Pool, ms: number): Promise<Figures> {
	const sent = new NdArray("float64", [ARRAY.length], ARRAY);
	const cpuBegin = cpuSecondsOfAll();
	const { calls, perSecond } = await callRepeatedly(async () => {
		const got = (await pool.execute("echo_array", [sent])) as NdArray;
		if (got.data.length !== ARRAY.length)
			throw new Error("the echo is not what was sent");
	}, ms);
	return {
		array_mb_s: (perSecond * 2 * ARRAY.byteLength) / 1e6,
		array_cpu_ms: ((cpuSecondsOfAll() - cpuBegin) * 1000) / calls,
	};
}

/** From `scripts/ray/inside.ts`. */
function rayInterpreter(): string {
	const python = process.env["SNAKEPIT_TEST_RAY_PYTHON"];
	if (python === undefined) throw new Error("there is no Ray cluster");
	return python;
}
