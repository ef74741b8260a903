import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pool, PoolOptions } from "@snakepit/core";
import type { Adapter } from "@snakepit/core/adapter";
import type { EventRecorder } from "@snakepit/core/testing";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { testPool } from "../../../../scripts/test-pool.ts";
import { type PythonOptions, python } from "../../src/index.ts";
import { PYTHON, toolsFile } from "./pythons.ts";

/** What a worker says about itself. */
export interface Facts {
	readonly pid: number;
	readonly importedIn: number;
	readonly startedIn: number;
	readonly session: number;
	readonly shown: Readonly<Record<string, string>>;
	readonly slot: string;
	readonly threads: string;
	readonly kept: string;
	readonly chance: readonly number[];
}

/** Workers that are forked from a parent with the tools of preloaded.py. */
export const preloaded = (options: Partial<PythonOptions>): Adapter =>
	python({
		python: PYTHON,
		tools: toolsFile("preloaded.py"),
		preload: "tools",
		...options,
	});

/** A pool of workers that are forked from a parent with the tools; closed when the test is finished. */
export function openPreloaded(
	options: Partial<PythonOptions> = {},
	size = 2,
	start: PoolOptions["start"] = {},
): Promise<{ readonly pool: Pool; readonly events: EventRecorder }> {
	return testPool({
		adapter: preloaded(options),
		size,
		start,
	});
}

/** Tools of one test's own. */
export function toolsOf(source: string): string {
	const path = join(temporaryDirectory(), "tools_of_a_test.py");
	writeFileSync(
		path,
		`${source}\nfrom snakepit_bridge import tool\n@tool\ndef one() -> int:\n    return 1\n`,
	);
	return path;
}

/** Both workers say their facts: a strict session each. */
export async function factsOfAll(
	pool: Pool,
	size = 2,
): Promise<readonly Facts[]> {
	const found = new Map<number, Facts>();
	while (found.size < size) {
		const facts = await Promise.all(
			Array.from({ length: size }, () => pool.execute("facts")),
		);
		for (const each of facts as Facts[]) found.set(each.pid, each);
	}
	return [...found.values()];
}
