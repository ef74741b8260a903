import { join } from "node:path";
import type { PoolOptions } from "@snakepit/core";
import type { EventRecorder } from "@snakepit/core/testing";
import type { UntypedTools } from "@snakepit/core/tools";
import {
	sharedTestPool,
	type TestPool,
	testPool,
} from "../../../scripts/test-pool.ts";
import { type HttpClient, type HttpOptions, http } from "../src/index.ts";

/** A server of programs/tools.mjs. */
export const node = (...where: readonly string[]): readonly string[] => [
	process.execPath,
	join(import.meta.dirname, "programs/tools.mjs"),
	...where,
];

/** A call runs in a server of programs/: it printed so. */
export async function begun(events: EventRecorder): Promise<void> {
	await events.waitFor("worker.output", ({ line }) => line === "begun");
}

type Pooled = TestPool<UntypedTools, HttpClient>;

export const pooled = (
	options: HttpOptions,
	more: Partial<Omit<PoolOptions, "adapter">> = {},
): Promise<Pooled> => testPool({ adapter: http(options), ...more });

export const sharedPool = (options: HttpOptions): (() => Promise<Pooled>) =>
	sharedTestPool({ adapter: http(options) });
