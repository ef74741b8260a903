import { AsyncResource } from "node:async_hooks";
import type { CallOptions, Connection } from "@snakepit/core/adapter";
import { startForReal } from "@snakepit/core/testing";
import { type Case, type Figures, lower, type Setting } from "../case.ts";
import { inProcessAdapter } from "../contestants/light-adapters.ts";
import { openPoolOf, ourAdapter, ourVariants } from "../contestants/ours.ts";
import { collectGarbage, keepCalling } from "../measure.ts";
import { SMALL_TEXT } from "./small-calls.ts";

type Call = () => Promise<unknown>;

const IN_FLIGHT = 16;
const MEMORY_CALLS = 20_000;

export const poolCost: Case = {
	name: "pool-cost",
	title: "What the pool itself costs",
	about:
		"`pool.execute` compared with `execute` of the bare connection, in this process without Python and with a worker that echoes 100 characters.",
	figures: {
		cpu_us_1: lower("host CPU a call", "us"),
		cpu_us_16: lower(`host CPU a call, ${IN_FLIGHT} in flight`, "us"),
		kept_bytes: lower("memory kept a call", "bytes"),
	},
	rows: [
		{
			name: "in this process, bare connection",
			measure: ({ pace }) => measure(bareCall(answerAtOnce), pace),
		},
		{
			name: "in this process, pool.execute",
			measure: async ({ pace }) => {
				await using pool = await openPoolOf({
					adapter: inProcessAdapter(answerAtOnce),
					size: 4,
					callsPerWorker: 16,
				});
				return await measure(() => pool.execute("echo", [SMALL_TEXT]), pace);
			},
		},
		...ourVariants.flatMap((variant) => [
			{
				name: `Python, ${variant.name}, bare connection`,
				measure: async (setting: Setting) => {
					const adapter = ourAdapter(variant, setting);
					const worker = await startForReal(adapter, {
						callsPerWorker: IN_FLIGHT,
					});
					const { connection } = worker;
					const call = bareCall(connection.execute.bind(connection));
					const figures = await measure(call, setting.pace);
					await worker.stop();
					return figures;
				},
			},
			{
				name: `Python, ${variant.name}, pool.execute`,
				measure: async (setting: Setting) => {
					await using pool = await openPoolOf({
						adapter: ourAdapter(variant, setting),
						size: 1,
						callsPerWorker: IN_FLIGHT,
					});
					const call = (): Promise<unknown> =>
						pool.execute("echo_async", [SMALL_TEXT]);
					return await measure(call, setting.pace);
				},
			},
		]),
	],
};

/** Answers in a turn of its own, as whatever reads a socket does. */
const answerAtOnce: Connection["execute"] = (_command, args) =>
	new Promise((resolve) => setImmediate(resolve, args));

/** A call as the pool makes it. */
function bareCall(execute: Connection["execute"]): Call {
	let calls = 0;
	return () => {
		const options: CallOptions = {
			callId: `c${++calls}`,
			signal: new AbortController().signal,
			context: new AsyncResource("bench"),
			timeoutMs: undefined,
			sessionId: undefined,
			input: undefined,
			traceContext: {},
		};
		return execute("echo_async", [SMALL_TEXT], options);
	};
}

async function measure(
	call: Call,
	{ warmUpMs, measureMs }: Setting["pace"],
): Promise<Figures> {
	// Many at a time first: that compiles the code soonest.
	await keepCalling(call, IN_FLIGHT, warmUpMs);
	const many = await keepCalling(call, IN_FLIGHT, measureMs);
	await keepCalling(call, 1, warmUpMs);
	const one = await keepCalling(call, 1, measureMs);
	await heapAfterCalls(call);
	const before = await heapAfterCalls(call);
	const after = await heapAfterCalls(call);
	const kept_bytes = (after - before) / MEMORY_CALLS;
	return { cpu_us_1: one.cpuUs, cpu_us_16: many.cpuUs, kept_bytes };
}

/** Bytes that live after so many calls. */
async function heapAfterCalls(call: Call): Promise<number> {
	let left = MEMORY_CALLS;
	const one = async (): Promise<void> => {
		while (left-- > 0) await call();
	};
	await Promise.all(Array.from({ length: IN_FLIGHT }, one));
	collectGarbage();
	return process.memoryUsage().heapUsed;
}
