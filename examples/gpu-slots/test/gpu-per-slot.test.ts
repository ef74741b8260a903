import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { python } from "@snakepit/adapter-python";
import { createPool, type Pool } from "@snakepit/core";
import type { WorkerSlot } from "@snakepit/core/adapter";
import { expect, onTestFinished, test } from "vitest";
import type { Tools } from "../src/gen/tools.ts";
import {
	type GpuPool,
	gpuPerSlot,
	TooFewGpusError,
} from "../src/gpu-per-slot.ts";
import { nvidiaDevices } from "../src/nvidia-devices.ts";

const here = (path: string): string =>
	fileURLToPath(new URL(path, import.meta.url));
const interpreter = here("../../../python/.venv/bin/python");

function scratch(): string {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-example-"));
	onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
	return directory;
}

/** What CUDA sees in each slot. */
function seen(pool: GpuPool): readonly unknown[] {
	const env = gpuPerSlot(pool);
	return Array.from({ length: pool.size }, (_, index) => {
		const { CUDA_VISIBLE_DEVICES } = env({ index } as WorkerSlot);
		return CUDA_VISIBLE_DEVICES;
	});
}

test.each([
	{ gpu: 0.5, size: 4, slots: ["a", "b", "a", "b"] },
	{ gpu: 0.1, size: 20, slots: Array(10).fill(["a", "b"]).flat() },
	{ gpu: 0.7, size: 2, slots: ["a", "b"] },
	{ gpu: 1, size: 2, slots: ["a", "b"] },
	{ gpu: 2, size: 1, slots: ["a,b"] },
])("$size workers with $gpu GPU each share two", ({ gpu, size, slots }) => {
	const devices = ["a", "b"];
	expect(seen({ devices, size, resources: { gpu } })).toEqual(slots);
	expect(() => seen({ devices, size: size + 1, resources: { gpu } })).toThrow(
		new TooFewGpusError(
			`A pool of size ${size + 1} with ${gpu} GPU a worker does not fit on a, b: there is room for ${size}. Lower its size, or resources.gpu.`,
		),
	);
});

test("without a GPU the error says so", () => {
	expect(() =>
		gpuPerSlot({ devices: [], size: 1, resources: { gpu: 0.5 } }),
	).toThrow(
		new TooFewGpusError(
			"A pool of size 1 with 0.5 GPU a worker needs GPUs, and none was found. Run it where there are some, or pass their names as `devices`.",
		),
	);
});

test.each([0, -1, 1.5, Number.NaN])("%d of a GPU is refused", (gpu) => {
	expect(() =>
		gpuPerSlot({ devices: ["a"], size: 1, resources: { gpu } }),
	).toThrow(RangeError);
});

test("the GPUs are those of a scheduler, or of the driver", async () => {
	const directory = scratch();
	const program = join(directory, "nvidia-smi");
	expect(await nvidiaDevices({ PATH: directory })).toEqual([]);
	writeFileSync(
		program,
		'#!/bin/sh\n[ "$*" = "--query-gpu=uuid --format=csv,noheader" ] || exit 2\necho GPU-1; echo GPU-2\n',
	);
	chmodSync(program, 0o755);
	expect(await nvidiaDevices({ PATH: directory })).toEqual(["GPU-1", "GPU-2"]);
	const scheduled = { PATH: directory, CUDA_VISIBLE_DEVICES: "2, 3" };
	expect(await nvidiaDevices(scheduled)).toEqual(["2", "3"]);
	expect(await nvidiaDevices({ CUDA_VISIBLE_DEVICES: "-1" })).toEqual([]);
	writeFileSync(program, "#!/bin/sh\necho no driver >&2; exit 9\n");
	await expect(nvidiaDevices({ PATH: directory })).rejects.toThrow("no driver");
});

/** A pool that is closed with the test. */
async function gpuPool(size: number): Promise<Pool<Tools>> {
	const devices = ["GPU-a", "GPU-b"];
	const pool = await createPool<Tools>({
		adapter: python({
			tools: here("../tools.py"),
			python: interpreter,
			env: gpuPerSlot({ devices, size, resources: { gpu: 1 } }),
		}),
		size,
		start: { backoffMs: 1 },
		dataDir: scratch(),
		onSignal: "ignore",
		output: { echo: "none" },
	});
	onTestFinished(() => pool.close({ drainMs: 0 }));
	return pool;
}

/** The GPUs of each worker that has started. All are idle, and each takes one of the calls. */
async function placesOf(pool: Pool<Tools>): Promise<Map<string, string>> {
	const workers = pool.workers().filter(({ pid }) => pid !== undefined);
	const places = await Promise.all(workers.map(() => pool.execute("place")));
	return new Map(
		workers.map(({ workerId, pid }) => [
			workerId,
			places.find(({ process }) => process === pid)?.devices.join() ?? "none",
		]),
	);
}

test("a worker that is killed leaves its GPU to the next one of its slot", async () => {
	const pool = await gpuPool(2);
	const before = await placesOf(pool);
	expect([...before]).toEqual([
		["python-0", "GPU-a"],
		["python-1", "GPU-b"],
	]);
	const killed = pool.workers().find(({ workerId }) => workerId === "python-1");
	const ready = new Promise((resolve) => pool.on("worker.ready", resolve));
	process.kill(killed?.pid as number, "SIGKILL");
	await ready;
	expect(await placesOf(pool)).toEqual(before);
});

test("a pool that grows beyond its GPUs says so, and keeps its workers", async () => {
	const pool = await gpuPool(2);
	const before = await placesOf(pool);
	const failed = new Promise((resolve) =>
		pool.on("worker.start_failed", resolve),
	);
	pool.resize({ min: 3, max: 3 });
	expect(await failed).toMatchObject({
		error: {
			message: expect.stringContaining("size 3 with 1 GPU a worker does not"),
		},
	});
	pool.resize({ min: 2, max: 2 });
	expect(await placesOf(pool)).toEqual(before);
});
