import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import { createPool } from "@snakepit/core";
import { temporaryDirectory } from "./measure.ts";

/*
 * Counts what one warm `pool.execute` runs of our own code in the host process: files, functions, and calls of them.
 * Counts are exact, unlike times: V8's precise coverage, after a warm-up. What runs in an equally long idle time is
 * taken off, and each function has the fewest calls that one of several calls made.
 *
 *   node --conditions=snakepit-source bench/src/calls-of-one-execute.ts --python PATH --transport framed --list
 */

/** What one call runs in the host. */
export interface CallCount {
	readonly files: number;
	readonly functions: number;
	readonly calls: number;
}

type Counts = ReadonlyMap<string, number>;

const PACKAGES = new URL("../../packages/", import.meta.url).href;
const WARM_UP_CALLS = 50;
const MEASURED_CALLS = 8;
const NEVER_MS = 2 ** 31 - 1;

const { values: flags } = parseArgs({
	options: {
		python: { type: "string", default: "python3" },
		transport: { type: "string", default: "grpc" },
		list: { type: "boolean", default: false },
	},
});
const transport = flags.transport === "framed" ? "framed" : "grpc";

const session = new Session();
session.connect();

await using pool = await createPool({
	adapter: pythonGrpc({
		tools: fileURLToPath(new URL("./python/tools.py", import.meta.url)),
		python: flags.python,
		transport,
	}),
	size: 1,
	dataDir: temporaryDirectory(),
	// Nothing but the call shall run while it is counted.
	heartbeat: { intervalMs: NEVER_MS },
	audit: { intervalMs: NEVER_MS },
});

await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", {
	callCount: true,
	detailed: true,
});
for (let i = 0; i < WARM_UP_CALLS; i++) await pool.execute("echo", ["text"]);
await settled();

// What only some of the calls ran beside it was not theirs: a timer, or an answer that a busy machine cut in two.
const own = await ownCounts();
for (let i = 1; i < MEASURED_CALLS; i++) {
	const again = await ownCounts();
	for (const [name, count] of own) {
		const fewer = Math.min(count, again.get(name) ?? 0);
		if (fewer > 0) own.set(name, fewer);
		else own.delete(name);
	}
}
if (flags.list)
	for (const [name, count] of [...own].sort())
		console.log(`${String(count).padStart(4)}  ${name}`);
const result: CallCount = {
	files: new Set([...own.keys()].map((name) => name.split(" ")[0])).size,
	functions: own.size,
	calls: [...own.values()].reduce((sum, count) => sum + count, 0),
};
console.log(JSON.stringify(result));

/** How often one call ran each function, less what ran in an equally long idle time. */
async function ownCounts(): Promise<Map<string, number>> {
	await takeCounts();
	const beganMs = performance.now();
	await pool.execute("echo", ["text"]);
	await settled();
	const busyMs = performance.now() - beganMs;
	const busy = await takeCounts();
	await new Promise((resolve) => setTimeout(resolve, busyMs));
	await settled();
	const idle = await takeCounts();
	const own = new Map<string, number>();
	for (const [name, count] of busy) {
		const more = count - (idle.get(name) ?? 0);
		if (more > 0) own.set(name, more);
	}
	return own;
}

/** Waits until all that the call has caused has run. */
async function settled(): Promise<void> {
	for (let turn = 0; turn < 3; turn++)
		await new Promise((resolve) => setImmediate(resolve));
}

/** How often each function of the packages ran since it was asked last. */
async function takeCounts(): Promise<Counts> {
	const counts = new Map<string, number>();
	const { result } = await session.post("Profiler.takePreciseCoverage");
	for (const { url, functions } of result) {
		if (!url.startsWith(PACKAGES)) continue;
		for (const { functionName, ranges } of functions) {
			const [whole] = ranges;
			if (whole === undefined || whole.count === 0) continue;
			const file = url.slice(PACKAGES.length);
			const name = `${file} ${functionName || "(anonymous)"} ${whole.startOffset}`;
			counts.set(name, whole.count);
		}
	}
	return counts;
}
