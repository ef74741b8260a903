import { adapterContract, startForReal } from "@snakepit/core/testing";
import { describe, test } from "vitest";
import { rows } from "../../../scripts/test-effort.ts";
import { type PythonOptions, python } from "../src/index.ts";
import { BLOCKING, COMMANDS } from "./support/contract-commands.ts";
import { PYTHON, toolsFile } from "./support/pythons.ts";

const WAYS = rows(
	[
		{ callsPerWorker: 3, commands: COMMANDS, preload: "off" },
		{ callsPerWorker: 1, commands: BLOCKING, preload: "tools" },
	] as const,
	({ preload }) => preload === "off",
);

describe.each(WAYS)(
	"the Python adapter with $callsPerWorker calls per worker and preload $preload keeps the adapter contract",
	({ callsPerWorker, commands, preload }) => {
		const options: PythonOptions = {
			tools: toolsFile("bench.py"),
			python: PYTHON,
			preload,
		};
		const cases = adapterContract({
			adapter: () => python(options),
			start: (adapter) => startForReal(adapter, { callsPerWorker }),
			callsPerWorker,
			begins: "noted",
			commands,
		});
		test.each(cases)("$title", ({ run }) => run());
	},
);
