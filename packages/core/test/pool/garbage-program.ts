// Makes calls, and prints BEGIN and END around those that count. Run with --expose-gc --trace-gc-nvp, which prints what
// each collection had to copy.
import type { Adapter } from "../../src/contract/adapter.ts";
import type {
	AttemptInstrument,
	Instrument,
} from "../../src/contract/instrument.ts";
import { createPool } from "../../src/index.ts";

const [count = "", isFollowed] = process.argv.slice(2);

/** A process that sleeps, and a conversation that never leaves this program. */
const adapter: Adapter = {
	name: "nothing",
	launch: () => ({
		executable: process.execPath,
		args: ["-e", "setInterval(() => {}, 1e6)"],
	}),
	connect: async () => ({
		execute: async (_command, args) => args,
		[Symbol.asyncDispose]: async () => {},
	}),
};

const attempt: AttemptInstrument = {
	traceContext: {},
	backCall: (_, run) => run(),
	cancelled: () => {},
	released: () => {},
};

/** Keeps something for each call, until the call is over. */
const instrument: Instrument = {
	attach: () => ({
		hear: () => {},
		accept: () => {
			const kept = Array.from({ length: 50 }, (_, index) => index);
			return {
				queued: () => {},
				prefetched: () => ({}),
				dispatched: () => attempt,
				retried: () => {},
				settled: () => kept.fill(0),
			};
		},
	}),
};

await using pool = await createPool({
	adapter,
	size: 1,
	callsPerWorker: 16,
	heartbeat: "off",
	instruments: isFollowed === "followed" ? [instrument] : [],
});

async function call(times: number): Promise<void> {
	let left = times;
	const line = async (): Promise<void> => {
		while (left-- > 0) await pool.execute("echo", [1]);
	};
	await Promise.all(Array.from({ length: 16 }, line));
}

// What is compiled late is compiled now. The full collection moves what lives long to the old generation, as the hours do.
await call(10_000);
globalThis.gc?.();
console.log("BEGIN");
await call(Number(count));
console.log("END");
