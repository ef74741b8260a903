import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { python, pythonEnvironment } from "@snakepit/adapter-python";
import { withPool } from "@snakepit/core";
import type { Tools } from "./gen/tools.ts";
import { gpuPerSlot, TooFewGpusError } from "./gpu-per-slot.ts";
import { nvidiaDevices } from "./nvidia-devices.ts";

const here = (path: string): string =>
	fileURLToPath(new URL(path, import.meta.url));

const { values } = parseArgs({
	options: {
		devices: { type: "string" },
		gpu: { type: "string", default: "0.5" },
		size: { type: "string", default: "4" },
		python: { type: "string" },
	},
});
const devices = values.devices?.split(",") ?? (await nvidiaDevices());
const interpreter =
	values.python === undefined
		? {
				environment: pythonEnvironment({
					requirements: [here("../../../python")],
				}),
			}
		: { python: values.python };

try {
	const size = Number(values.size);
	const resources = { gpu: Number(values.gpu) };
	const adapter = python({
		tools: here("../tools.py"),
		env: gpuPerSlot({ devices, size, resources }),
		...interpreter,
	});
	await withPool<void, Tools>({ adapter, size }, async (pool) => {
		const places = await Promise.all(
			Array.from({ length: size }, () => pool.execute("place")),
		);
		for (const place of places)
			console.log(`${place.share} of ${place.devices.join(" and ")}`);
	});
} catch (error) {
	if (!(error instanceof TooFewGpusError)) throw error;
	console.error(error.message);
	process.exitCode = 1;
}
