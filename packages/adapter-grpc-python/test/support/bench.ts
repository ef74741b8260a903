import {
	PYTHON,
	toolsFile,
} from "../../../adapter-python/test/support/pythons.ts";
import { type PythonGrpcOptions, pythonGrpc } from "../../src/index.ts";
import {
	type StartOptions,
	startPythonWorker,
	type TestWorker,
} from "./python-worker.ts";

/** What every promise about calls is kept over. */
export const TRANSPORTS = ["grpc", "framed"] as const;

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
	return startPythonWorker(
		pythonGrpc({ tools: toolsFile("bench.py"), python: PYTHON, ...options }),
		start,
	);
}
