import type { Adapter } from "@snakepit/core/adapter";
import { afterAll, expect } from "vitest";
import { rows } from "../../../../scripts/test-effort.ts";
import {
	PYTHON,
	toolsFile,
} from "../../../adapter-python/test/support/pythons.ts";
import { type PythonGrpcOptions, pythonGrpc } from "../../src/index.ts";
import {
	type AtEnd,
	type StartOptions,
	startPythonWorker,
	type TestWorker,
} from "./python-worker.ts";

/** What every promise about calls is kept over. */
export const TRANSPORTS = ["grpc", "framed"] as const;

/** `test` keeps the details of a promise over the transport that `python()` has, `check` over each. */
export const DETAIL_TRANSPORTS: readonly (typeof TRANSPORTS)[number][] = rows(
	TRANSPORTS,
	(transport) => transport === "framed",
);

/** `startBench` with a transport. */
export function benchOver(
	transport: (typeof TRANSPORTS)[number],
): typeof startBench {
	return (options, start) => startBench({ transport, ...options }, start);
}

/** A worker with the tools of bench.py; gone when the test is finished. */
export function startBench(
	options: Partial<PythonGrpcOptions> = {},
	start: StartOptions = {},
): Promise<TestWorker> {
	return startPythonWorker(bench(options), start);
}

function bench(options: Partial<PythonGrpcOptions>): Adapter {
	return pythonGrpc({
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
	options: Partial<PythonGrpcOptions> = {},
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
