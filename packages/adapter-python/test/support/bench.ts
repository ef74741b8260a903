import type { Adapter } from "@snakepit/core/adapter";
import { afterAll, expect } from "vitest";
import { type PythonOptions, python } from "../../src/index.ts";
import {
	type AtEnd,
	type StartOptions,
	startPythonWorker,
	type TestWorker,
} from "./python-worker.ts";
import { PYTHON, toolsFile } from "./pythons.ts";

/** A worker with the tools of bench.py; gone when the test is finished. */
export function startBench(
	options: Partial<PythonOptions> = {},
	start: StartOptions = {},
): Promise<TestWorker> {
	return startPythonWorker(bench(options), start);
}

function bench(options: Partial<PythonOptions>): Adapter {
	return python({
		tools: toolsFile("bench.py"),
		python: PYTHON,
		...options,
	});
}

/**
 * One worker with the tools of bench.py for all tests of a file that leave it as
 * they found it: it starts with the first that asks and is gone after the last.
 */
export function sharedBench(
	options: Partial<PythonOptions> = {},
): () => Promise<TestWorker> {
	const ends: Parameters<AtEnd>[0][] = [];
	let worker: Promise<TestWorker> | undefined;
	afterAll(async () => {
		expect((await worker)?.brokenBy ?? []).toEqual([]);
		for (const end of ends.reverse()) await end();
	});
	return () => {
		worker ??= startPythonWorker(bench(options), {}, (end) => ends.push(end));
		return worker;
	};
}
