import type { WorkerSlot } from "@snakepit/core/adapter";
import { expect, test } from "vitest";
import { gpuPerSlot } from "../src/gpu-per-slot.ts";

test.each([
	{ gpu: 0.5, size: 4, slots: ["a", "b", "a", "b"] },
	{ gpu: 0.1, size: 20, slots: Array(10).fill(["a", "b"]).flat() },
	{ gpu: 0.7, size: 2, slots: ["a", "b"] },
	{ gpu: 1, size: 2, slots: ["a", "b"] },
	{ gpu: 2, size: 1, slots: ["a,b"] },
])("$size workers with $gpu GPU each share two", ({ gpu, size, slots }) => {
	const devices = ["a", "b"];
	const env = gpuPerSlot({ devices, size, resources: { gpu } });
	const visible = slots.map(
		(_, index) => env({ index } as WorkerSlot)["CUDA_VISIBLE_DEVICES"],
	);
	expect(visible).toEqual(slots);
	const message = `A pool of size ${size + 1} with ${gpu} GPU a worker does not fit on a, b: there is room for ${size}. Lower its size, or resources.gpu.`;
	expect(() => env({ index: size } as WorkerSlot)).toThrow(message);
	expect(() =>
		gpuPerSlot({ devices, size: size + 1, resources: { gpu } }),
	).toThrow(message);
});

test.each([0, -1, 1.5, Number.NaN])("%d of a GPU is refused", (gpu) => {
	expect(() =>
		gpuPerSlot({ devices: ["a"], size: 1, resources: { gpu } }),
	).toThrow(RangeError);
});
