import { adapterContract, startForReal } from "@snakepit/core/testing";
import { describe, test } from "vitest";
import { rows } from "../../../scripts/test-effort.ts";
import {
	BLOCKING,
	COMMANDS,
} from "../../adapter-python/test/support/contract-commands.ts";
import {
	PYTHON,
	toolsFile,
} from "../../adapter-python/test/support/pythons.ts";
import { pythonGrpc } from "../src/index.ts";

/** What depends most on how frames travel: `test` has these. */
const ON_THE_WAY =
	/^one call after|^an aborted (call|stream)|wait for an item|consumer|process dies|exit code 0/;

const WAYS = rows(
	[
		{ callsPerWorker: 1, commands: BLOCKING, preload: "off" },
		{ callsPerWorker: 3, commands: COMMANDS, preload: "tools" },
	] as const,
	({ preload }) => preload === "off",
);

describe.each(WAYS)(
	"the Python adapter over gRPC with $callsPerWorker calls per worker and preload $preload keeps the adapter contract",
	({ callsPerWorker, commands, preload }) => {
		const cases = adapterContract({
			adapter: () =>
				pythonGrpc({
					tools: toolsFile("bench.py"),
					python: PYTHON,
					transport: "grpc",
					preload,
				}),
			start: (adapter) => startForReal(adapter, { callsPerWorker }),
			callsPerWorker,
			begins: "noted",
			commands,
		});
		const wanted = rows(cases, ({ title }) => ON_THE_WAY.test(title));
		test.each(wanted)("$title", ({ run }) => run());
	},
);
