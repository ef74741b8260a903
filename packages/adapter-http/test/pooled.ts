import { join } from "node:path";
import {
	createPool,
	type Pool,
	type PoolOptions,
	type SnakepitEvent,
} from "@snakepit/core";
import type { UntypedTools } from "@snakepit/core/tools";
import { afterAll, onTestFinished } from "vitest";
import { dataDirectory } from "../../../scripts/test-data-directory.ts";
import { type HttpClient, type HttpOptions, http } from "../src/index.ts";

/** A server of programs/tools.mjs. */
export const node = (...where: readonly string[]): readonly string[] => [
	process.execPath,
	join(import.meta.dirname, "programs/tools.mjs"),
	...where,
];

/** A call runs in a server of programs/: it printed so. */
export async function begun(events: readonly SnakepitEvent[]): Promise<void> {
	const is = (event: SnakepitEvent): boolean =>
		event.type === "worker.output" && event.line === "begun";
	while (!events.some(is)) await new Promise((next) => setImmediate(next));
}

export interface Pooled {
	readonly pool: Pool<UntypedTools, HttpClient>;
	readonly events: readonly SnakepitEvent[];
}

/** A pool of one worker, closed after the test. */
export async function pooled(
	options: HttpOptions,
	more: Partial<Omit<PoolOptions, "adapter">> = {},
): Promise<Pooled> {
	const opened = await open(options, more);
	onTestFinished(() => opened.pool.close({ manner: "forced" }));
	return opened;
}

/** One for all tests of a file that leave it as it is. */
export function sharedPool(options: HttpOptions): () => Promise<Pooled> {
	let opened: Promise<Pooled> | undefined;
	afterAll(async () => (await opened)?.pool.close({ manner: "forced" }));
	return () => {
		opened ??= open(options);
		return opened;
	};
}

async function open(
	options: HttpOptions,
	more: Partial<Omit<PoolOptions, "adapter">> = {},
): Promise<Pooled> {
	const events: SnakepitEvent[] = [];
	const pool = await createPool({
		dataDir: dataDirectory(),
		adapter: http(options),
		size: 1,
		output: { echo: "none" },
		onEvent: (event) => events.push(event),
		...more,
	});
	return { pool, events };
}
