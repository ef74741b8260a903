import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createPool, type ExecuteOptions, SnakepitError } from "@snakepit/core";
import type { Adapter } from "@snakepit/core/adapter";
import { Chance } from "./chance.ts";
import { type WorkerOptions, workerAdapter } from "./worker-adapter.ts";

/** Steps of a call in its worker at which something can happen; `ahead_tools.py` has them. */
export const STEPS = [
	"before its number is stored",
	"between the number and the look at what was taken back",
	"before the tool",
	"in the tool",
] as const;

/** The effect of a call on its worker: in its tool, or in the next call that begins there. */
export interface Strike {
	readonly step: (typeof STEPS)[number];
	readonly how: "kill" | "stop" | "hang" | "sleep" | "compute";
	readonly ms: number;
}

/** Many calls, with their own pool. */
export interface StormWanted {
	readonly seed: number;
	readonly calls: number;
	readonly size: number;
	/** By turns; one call of `every` has one. */
	readonly strikes: readonly Strike[];
	readonly every: number;
	/** What share of the calls is aborted, is urgent, has a deadline. */
	readonly aborted: number;
	readonly urgent: number;
	readonly limited: number;
	/**
	 * After each strike, the host reads nothing for this long, while its worker continues. Then it takes calls back for an
	 * urgent one before it reads again.
	 */
	readonly blockedMs: number;
	/** When a worker that was stopped counts as hung; by default not before it goes on. */
	readonly heartbeat?: {
		readonly intervalMs: number;
		readonly hungAfterMs: number;
	};
}

/** A line of the file `settled`: how a call ended, and the counts at that time. */
export interface SettledCall {
	readonly number: number;
	/** `"ok"` or the code of its error. */
	readonly ending: string;
	readonly ran: "no" | "maybe" | undefined;
	/** How many calls were sent to a worker that had one. */
	readonly prefetched: number;
	/** How many calls workers gave back. */
	readonly recalled: number;
}

/** How many calls were made, and how many of them the pool reported as settled. */
export interface StormReport {
	readonly made: number;
	readonly settled: number;
}

const CALLERS = 24;
const RETRIES = 2;

/** How often a call may begin: its caller allows some to be made again. */
export function mostBegins(number: number): number {
	return number % 10 === 0 ? 1 + RETRIES : 1;
}

/**
 * Makes the calls, and writes how each ended to a file that outlives this program.
 *
 * @param place where the files are.
 */
export async function makeCallsAhead(
	wanted: StormWanted,
	workers: Pick<WorkerOptions, "transport" | "preload">,
	dataDir: string,
	place: string,
): Promise<StormReport> {
	const chance = new Chance(wanted.seed);
	const file = openSync(join(place, "settled"), "a");
	const count = { prefetched: 0, recalled: 0 };
	let [made, settled, strikes] = [0, 0, 0];
	const program = join(import.meta.dirname, "ahead_tools.py");
	const pool = await createPool({
		name: "prefetched",
		adapter: counting(
			workerAdapter({ ...workers, worker: "python", program }),
			count,
		),
		size: wanted.size,
		dataDir,
		output: { echo: "none" },
		// Retries soon and without a limit.
		start: { maxRestarts: 100_000, backoffMs: 10 },
		...(wanted.heartbeat && { heartbeat: wanted.heartbeat }),
		onEvent: ({ type }) => {
			if (type === "call.settled") settled++;
		},
	});
	const note = (number: number, ending: string, ran?: "no" | "maybe") => {
		const call: SettledCall = { number, ending, ran, ...count };
		writeSync(file, `${JSON.stringify(call)}\n`);
	};
	function send(options: ExecuteOptions, strike?: Strike): Promise<void> {
		const number = ++made;
		const [tool, args] =
			strike === undefined
				? [chance.of(0.2) ? "work_async" : "work", [number]]
				: ["work", [number, strike.step, strike.how, strike.ms]];
		const retry = { attempts: mostBegins(number) };
		return pool.execute(tool, args, { ...options, retry }).then(
			() => note(number, "ok"),
			(error) => {
				if (!(error instanceof SnakepitError)) throw error;
				note(number, error.code, error.ran);
			},
		);
	}
	async function make(): Promise<void> {
		const controller = new AbortController();
		const strike =
			(made + 1) % wanted.every === 0
				? wanted.strikes[strikes++ % wanted.strikes.length]
				: undefined;
		const ended = send(
			{
				signal: controller.signal,
				priority: chance.of(wanted.urgent) ? 1 : 0,
				...(chance.of(wanted.limited) && { timeoutMs: 1 + chance.below(5) }),
			},
			strike,
		);
		if (chance.of(wanted.aborted)) {
			for (let turns = chance.below(3); turns > 0; turns--) await nextTurn();
			controller.abort();
		}
		if (strike !== undefined && wanted.blockedMs > 0) {
			await nextTurn();
			block(wanted.blockedMs);
			await send({ priority: 2 });
		}
		await ended;
	}
	async function many(): Promise<void> {
		while (made < wanted.calls) await make();
	}
	await Promise.all(Array.from({ length: CALLERS }, many));
	await pool.close({ drainMs: 0 });
	return { made, settled };
}

function block(ms: number): void {
	const until = performance.now() + ms;
	while (performance.now() < until);
}

/** The adapter; its connections count the calls that are prefetched and taken back. */
function counting(
	adapter: Adapter,
	count: { prefetched: number; recalled: number },
): Adapter {
	const connect: Adapter["connect"] = async (worker, signal) => {
		const connection = await adapter.connect(worker, signal);
		const { prefetch } = connection;
		if (prefetch === undefined) return connection;
		const execute = connection.execute.bind(connection);
		let running = 0;
		connection.execute = async (...call) => {
			if (running++ > 0) count.prefetched++;
			try {
				return await execute(...call);
			} finally {
				running--;
			}
		};
		const recall = prefetch.recall.bind(prefetch);
		prefetch.recall = (callId) => {
			const taken = recall(callId);
			count.recalled += taken.size;
			return taken;
		};
		return connection;
	};
	return Object.assign(Object.create(adapter) as Adapter, { connect });
}
