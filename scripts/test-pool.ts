import { afterAll, onTestFinished } from "vitest";
import {
	createPool,
	type Pool,
	type PoolOptions,
	type RunOptions,
} from "../packages/core/src/index.ts";
import { EventRecorder } from "../packages/core/src/testing.ts";
import type { ToolMap, UntypedTools } from "../packages/core/src/tools.ts";
import { dataDirectory } from "./test-data-directory.ts";

/** A pool of a test, and what it reported. */
export interface TestPool<Tools extends ToolMap, Client> {
	readonly pool: Pool<Tools, Client>;
	readonly events: EventRecorder;
}

/** A pool of one worker that prints nothing, closed when the test is finished. */
export async function testPool<
	Tools extends ToolMap = UntypedTools,
	Client = unknown,
>(options: PoolOptions<Client> & RunOptions): Promise<TestPool<Tools, Client>> {
	const opened = await open<Tools, Client>(options);
	onTestFinished(() => opened.pool.close({ manner: "forced" }));
	return opened;
}

/** One pool for all tests of a file that leave it as it is: the first that asks opens it. */
export function sharedTestPool<
	Tools extends ToolMap = UntypedTools,
	Client = unknown,
>(
	options: PoolOptions<Client> & RunOptions,
): () => Promise<TestPool<Tools, Client>> {
	let opened: Promise<TestPool<Tools, Client>> | undefined;
	afterAll(async () => (await opened)?.pool.close({ manner: "forced" }));
	return () => {
		opened ??= open<Tools, Client>(options);
		return opened;
	};
}

async function open<Tools extends ToolMap, Client>(
	options: PoolOptions<Client> & RunOptions,
): Promise<TestPool<Tools, Client>> {
	const events = new EventRecorder();
	const pool = await createPool<Tools, Client>({
		size: 1,
		dataDir: dataDirectory(),
		output: { echo: "none" },
		onEvent: events.record,
		...options,
	});
	return { pool, events };
}
