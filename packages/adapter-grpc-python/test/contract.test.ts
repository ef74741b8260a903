import { type PythonOptions, python } from "@snakepit/adapter-python";
import {
	adapterContract,
	type ContractCommands,
	startForReal,
} from "@snakepit/core/testing";
import { describe, test } from "vitest";
import { rows } from "../../../scripts/test-effort.ts";
import {
	PYTHON,
	toolsFile,
} from "../../adapter-python/test/support/pythons.ts";
import { pythonGrpc } from "../src/index.ts";

const commands: ContractCommands = {
	echo: { command: "echo", args: { value: [1, "x"] }, result: [1, "x"] },
	hang: { command: "hang_async", args: {} },
	fail: { command: "fail", args: {} },
	count: {
		command: "count_and_total",
		args: { below: 3 },
		items: [0, 1, 2],
		result: { total: 3 },
	},
	report: {
		command: "report",
		args: {},
		reports: [
			{ fraction: 0.5, message: "half" },
			{ fraction: undefined, message: "" },
			{ fraction: 1, message: "whole" },
		],
		result: "reported",
	},
	strayLine: { command: "say", args: { text: "aloud" }, result: "aloud" },
	leaveSlowly: { command: "linger", args: { seconds: 0.3 } },
	endless: {
		command: "endless",
		args: {},
		// What small chunks count at least, against the default credit.
		window: (64 * 1024) / 256,
		produced: async ({ execute }) => Number(await execute("how_many_produced")),
	},
};

/** With one call at a time, tools that block are interrupted as well. */
const blocking: ContractCommands = {
	...commands,
	hang: { command: "hang", args: {} },
	silent: { command: "silent", args: {} },
};

interface Way {
	readonly transport: "grpc" | "framed";
	readonly callsPerWorker: number;
	readonly commands: ContractCommands;
	readonly preload?: "tools";
}

// Each two choices meet once. `test` has both transports and both counts.
const WAYS: readonly Way[] = rows<Way>(
	[
		{ transport: "grpc", callsPerWorker: 1, commands: blocking },
		{ transport: "framed", callsPerWorker: 3, commands },
		{ transport: "grpc", callsPerWorker: 3, commands, preload: "tools" },
		{
			transport: "framed",
			callsPerWorker: 1,
			commands: blocking,
			preload: "tools",
		},
	],
	({ preload }) => preload === undefined,
);

/** What depends most on how frames travel: over gRPC `test` has these, and calls.test.ts and streams.test.ts. */
const OVER_GRPC =
	/^one call after|^an aborted (call|stream)|wait for an item|consumer|process dies|exit code 0/;

describe.each(WAYS)(
	"the Python adapter over $transport with $callsPerWorker calls per worker and preload $preload keeps the adapter contract",
	({ transport, callsPerWorker, commands, preload }) => {
		const options: PythonOptions = {
			tools: toolsFile("bench.py"),
			python: PYTHON,
			preload: preload ?? "off",
		};
		const cases = adapterContract({
			adapter: () =>
				transport === "framed"
					? python(options)
					: pythonGrpc({ ...options, transport }),
			start: (adapter) => startForReal(adapter, { callsPerWorker }),
			callsPerWorker,
			begins: "noted",
			commands,
		});
		const wanted = rows(
			cases,
			({ title }) => transport === "framed" || OVER_GRPC.test(title),
		);
		test.each(wanted)("$title", ({ run }) => run());
	},
);
