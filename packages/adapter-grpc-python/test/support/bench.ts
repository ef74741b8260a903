import { rows } from "../../../../scripts/test-effort.ts";
import {
	PYTHON,
	toolsFile,
} from "../../../adapter-python/test/support/pythons.ts";
import { type PythonGrpcOptions, pythonGrpc } from "../../src/index.ts";
import { DEFAULTS } from "../../src/options.ts";
import {
	type StartOptions,
	startPythonWorker,
	type TestWorker,
} from "./python-worker.ts";

/** What every promise about calls is kept over. */
export const TRANSPORTS = ["grpc", "framed"] as const;

/** `test` keeps the details of a promise over the default transport, `check` over each. */
export const DETAIL_TRANSPORTS: readonly (typeof TRANSPORTS)[number][] = rows(
	TRANSPORTS,
	(transport) => transport === DEFAULTS.transport,
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
	return startPythonWorker(
		pythonGrpc({ tools: toolsFile("bench.py"), python: PYTHON, ...options }),
		start,
	);
}
