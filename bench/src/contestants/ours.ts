import { fileURLToPath } from "node:url";
import {
	NdArray,
	type PythonGrpcAdapter,
	type PythonGrpcOptions,
	pythonGrpc,
} from "@snakepit/adapter-grpc-python";
import {
	createPool,
	type Pool,
	type PoolOptions,
	type RunOptions,
} from "@snakepit/core";
import type { Setting } from "../case.ts";
import { temporaryDirectory } from "../measure.ts";
import type { Contestant, Line } from "./contestant.ts";

/** One way to use the Python adapter: a row of ours in every case that compares ours. */
export interface OurVariant {
	readonly name: string;
	readonly options: Partial<PythonGrpcOptions>;
}

export const ourVariants: readonly OurVariant[] = [
	{ name: "gRPC", options: {} },
	{ name: "framed", options: { transport: "framed" } },
];

/** For the cases that start workers. */
export const startVariants: readonly OurVariant[] = [
	...ourVariants,
	{
		name: "framed, not preloaded",
		options: { transport: "framed", preload: "off" },
	},
	{ name: "gRPC, preloaded", options: { preload: "tools" } },
	{
		name: "framed, preloaded",
		options: { transport: "framed", preload: "tools" },
	},
];

/** Larger than the largest value of any case. */
const MOST_MESSAGE_BYTES = 256 * 1024 * 1024;

/** Which tool a pool of ours is called with, and how many calls a worker runs at once. */
export type Manner =
	/** The default: an ordinary function, one call a worker. */
	| "sync"
	/** `async def`, as many calls a worker as are under way. */
	| "async";

/** Ours, once for each variant. */
export function ours(
	manner: Manner = "sync",
	variants: readonly OurVariant[] = ourVariants,
): readonly Contestant[] {
	return variants.map((variant) => ({
		name: ourName(variant.name, manner),
		open: async (setting) => {
			const { inFlight, workers } = setting;
			const usual = manner === "sync" ? 1 : Math.ceil(inFlight / workers);
			const { callsPerWorker = usual } = setting;
			const pool = await openPool(variant, setting, {
				size: workers,
				callsPerWorker,
			});
			return lineTo(pool, manner === "sync" ? "echo" : "echo_async");
		},
	}));
}

export function ourName(variant: string, manner: Manner = "sync"): string {
	return manner === "sync"
		? `ours, ${variant}`
		: `ours, ${variant}, async tool`;
}

export function ourAdapter(
	{ options }: OurVariant,
	{ python }: Setting,
	tools: "tools" | "numpy_tools" | "embedder" = "tools",
): PythonGrpcAdapter {
	return pythonGrpc({
		python,
		tools: fileURLToPath(new URL(`../python/${tools}.py`, import.meta.url)),
		maxMessageBytes: MOST_MESSAGE_BYTES,
		...options,
	});
}

/** Opens a pool whose ledger is its own, and goes with it. */
export async function openPool(
	variant: OurVariant,
	setting: Setting,
	options: Omit<PoolOptions & RunOptions, "adapter"> = {},
): Promise<Pool> {
	return await openPoolOf({
		adapter: ourAdapter(variant, setting),
		...options,
	});
}

export async function openPoolOf(
	options: PoolOptions & RunOptions,
): Promise<Pool> {
	const dataDir = options.dataDir ?? temporaryDirectory();
	return await createPool({ queue: { limit: 1_000_000 }, ...options, dataDir });
}

export function pidsOf(pool: Pool): readonly number[] {
	return pool.workers().flatMap(({ pid }) => pid ?? []);
}

function lineTo(pool: Pool, echo: string): Line {
	return {
		pids: pidsOf(pool),
		echo: (text) => pool.execute(echo, [text]),
		echoBytes: async (bytes) =>
			(await pool.execute("echo", [bytes])) as Uint8Array,
		takeBytes: (bytes) => pool.execute("take", [bytes]),
		giveBytes: async (size) =>
			(await pool.execute("give", [size])) as Uint8Array,
		echoArray: async (array) => {
			const sent = new NdArray("float64", [array.length], array);
			const got = (await pool.execute("echo_array", [sent])) as NdArray;
			return got.data as Float64Array;
		},
		stream: (items, size) =>
			pool.stream("produce", [items, size]) as AsyncIterable<Uint8Array>,
		produced: async () => (await pool.execute("produced")) as number,
		[Symbol.asyncDispose]: () => pool.close({ drainMs: 0 }),
	};
}
