import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { python, pythonEnvironment } from "@snakepit/adapter-python";
import { withPool } from "@snakepit/core";
import type { Tools } from "./gen/tools.ts";
import { gpuPerSlot } from "./gpu-per-slot.ts";

const { values } = parseArgs({
	options: {
		devices: { type: "string" },
		gpu: { type: "string", default: "0.5" },
		size: { type: "string", default: "4" },
		python: { type: "string" },
	},
});
// A scheduler names those that this program may use; else the driver lists all.
const list =
	values.devices ??
	process.env["CUDA_VISIBLE_DEVICES"] ??
	execFileSync("nvidia-smi", ["--query-gpu=uuid", "--format=csv,noheader"], {
		encoding: "utf8",
	});
const devices = list.trim().split(/[,\n]\s*/);
const requirements = [join(import.meta.dirname, "../../../python")];

try {
	const size = Number(values.size);
	const resources = { gpu: Number(values.gpu) };
	const adapter = python({
		tools: join(import.meta.dirname, "../tools.py"),
		env: gpuPerSlot({ devices, size, resources }),
		python: values.python,
		environment: values.python
			? undefined
			: pythonEnvironment({ requirements }),
	});
	await withPool<void, Tools>({ adapter, size }, async (pool) => {
		const results = await Promise.all(
			Array.from({ length: size }, () => pool.execute("devices")),
		);
		const lines = results.map(
			({ share, devices }) => `${share} of ${devices.join(" and ")}`,
		);
		for (const line of lines.sort()) console.log(line);
	});
} catch (error) {
	if (!(error instanceof RangeError)) throw error;
	console.error(error.message);
	process.exitCode = 1;
}
