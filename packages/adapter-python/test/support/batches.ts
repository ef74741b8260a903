import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type {
	ExecuteOptions,
	Pool,
	PoolOptions,
	SnakepitEvent,
} from "@snakepit/core";
import { rows } from "../../../../scripts/test-effort.ts";
import { testPool } from "../../../../scripts/test-pool.ts";
import { python } from "../../src/index.ts";
import { scratch } from "./fake-python.ts";
import { PYTHON } from "./pythons.ts";

/** The most calls of a batch in batches.py. */
export const MAX = 4;
/** Its tools that run calls together: an ordinary function and, in `check`, an `async def`. */
export const KINDS: readonly string[] = rows(
	["together", "later"],
	(tool) => tool === "together",
);

/** An adapter with the tools of batches.py; `gate` is the pipe where they block. */
export function batchesAdapter(gate: string): ReturnType<typeof python> {
	return python({
		tools: fileURLToPath(new URL("../promises/batches.py", import.meta.url)),
		python: PYTHON,
		env: { GATE: gate },
	});
}

/** One worker whose batches print what they begin, and wait at a pipe. */
export class Batches {
	readonly pool: Pool;
	readonly events: SnakepitEvent[] = [];
	readonly tool: string;
	readonly #gate: string;
	readonly #waits: (() => void)[] = [];

	private constructor(pool: Pool, tool: string, gate: string) {
		this.pool = pool;
		this.tool = tool;
		this.#gate = gate;
	}

	static async open(
		tool: string,
		options: Partial<PoolOptions> = {},
	): Promise<Batches> {
		let opened: Batches | undefined;
		const gate = join(scratch(), "gate");
		execFileSync("mkfifo", ["-m", "600", gate]);
		const { pool } = await testPool({
			adapter: batchesAdapter(gate),
			callsPerWorker: 2 * MAX,
			onEvent: (event) => opened?.note(event),
			...options,
		});
		opened = new Batches(pool, tool, gate);
		return opened;
	}

	call(item: string, options?: ExecuteOptions): Promise<unknown> {
		const answer = this.pool.execute(this.tool, [item], options);
		answer.catch(() => {});
		return answer;
	}

	note(event: SnakepitEvent): void {
		this.events.push(event);
		for (const check of this.#waits) check();
	}

	/** Unblocks one batch, after the worker has read every call that was sent to it. */
	async release(): Promise<void> {
		const { waiting } = this.pool.statistics().calls;
		// Behind calls that wait for a batch to end, it would wait for this one.
		if (waiting === 0) await this.pool.execute("other", [""]);
		writeFileSync(this.#gate, "x");
	}

	/** Waits for an event, which may have come already. */
	async until(holds: (event: SnakepitEvent) => boolean): Promise<void> {
		await new Promise<void>((resolve) => {
			const check = () => {
				if (this.events.some(holds)) resolve();
			};
			this.#waits.push(check);
			check();
		});
	}

	/** Waits until a batch with this item has begun. */
	began(item: string): Promise<void> {
		return this.until(
			(event) =>
				event.type === "worker.output" && event.line.split(" ").includes(item),
		);
	}

	/** The items of each batch, up to the one with this item. What a worker prints may arrive after its answers. */
	async begunUpTo(item: string): Promise<readonly string[][]> {
		await this.began(item);
		return this.events.flatMap((event) =>
			event.type === "worker.output" && event.line.startsWith("began ")
				? [event.line.split(" ").slice(1)]
				: [],
		);
	}
}
