import type { WorkerEnv } from "@snakepit/adapter-python";
import type { WorkerSlot } from "@snakepit/core/adapter";

export interface GpuPool {
	/** The GPUs, as `CUDA_VISIBLE_DEVICES` names them. */
	readonly devices: readonly string[];
	/** How many workers the pool has at most. */
	readonly size: number;
	/** What each worker gets: 0.5 is half of a GPU, 2 are two of them. */
	readonly resources: { readonly gpu: number };
}

/**
 * Returns the `env` of `python()` that gives the worker of each slot its GPUs. The next worker of a slot gets the same.
 *
 * @throws RangeError if no worker can have so much of a GPU, or all of them together cannot.
 */
export function gpuPerSlot(pool: GpuPool): (slot: WorkerSlot) => WorkerEnv {
	const { devices, size, resources } = pool;
	const { gpu } = resources;
	if (!(gpu > 0) || (gpu > 1 && !Number.isInteger(gpu)))
		throw new RangeError(
			`resources.gpu is ${gpu}: it must be a part of one GPU, such as 0.5, or a whole number of them.`,
		);
	// 1 / 0.1 workers fit on a GPU, whatever the last digit of 0.1 is.
	const room =
		gpu < 1
			? devices.length * Math.floor(1 / gpu + 1e-9)
			: Math.floor(devices.length / gpu);
	const requireRoom = (workers: number): void => {
		if (workers > room)
			throw new RangeError(
				`A pool of size ${workers} with ${gpu} GPU a worker does not fit on ${devices.join(", ") || "no GPU"}: there is room for ${room}. Lower its size, or resources.gpu.`,
			);
	};
	requireRoom(size);
	const each = Math.max(1, gpu);
	return ({ index }) => {
		// A pool that was resized may have more slots than it began with.
		requireRoom(index + 1);
		// Neighbours get different GPUs: a pool that has not grown yet uses all of them.
		const first = (index * each) % devices.length;
		return {
			CUDA_VISIBLE_DEVICES: devices.slice(first, first + each).join(","),
			GPU_SHARE: String(Math.min(1, gpu)),
		};
	};
}
