import { fileURLToPath } from "node:url";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import {
	adapterContract,
	type ContractCommands,
	startForReal,
} from "@snakepit/core/testing";
import { watchdog } from "@snakepit/watchdog";
import { describe, expect, test } from "vitest";
import { rows } from "../../scripts/test-effort.ts";
import { PYTHON } from "../programs/worker-adapter.ts";
import { everyProcess } from "../src/harness/process-table.ts";

const TOOLS = fileURLToPath(
	new URL("../../packages/adapter-python/test/tools/bench.py", import.meta.url),
);
const commands: ContractCommands = {
	echo: { command: "echo", args: { value: [1, "x"] }, result: [1, "x"] },
	hang: { command: "hang", args: {} },
	fail: { command: "fail", args: {} },
	count: { command: "count", args: { below: 3 }, items: [0, 1, 2] },
	endless: {
		command: "endless",
		args: {},
		window: (64 * 1024) / 256,
		produced: async ({ execute }) => Number(await execute("how_many_produced")),
	},
	silent: { command: "silent", args: {} },
};
/** Several at once, each with protections of its own: generous, for a busy machine. */
const WITHIN_MS = 60_000;
const refuse = { whenUnavailable: "refuse" } as const;

const protections = [watchdog(refuse)];

describe.skipIf(process.platform !== "linux")(
	"the Python adapter, its workers protected by watchdog and guard, keeps the adapter contract",
	() => {
		const contract = adapterContract({
			adapter: () => pythonGrpc({ tools: TOOLS, python: PYTHON }),
			start: async (adapter) => {
				const worker = await startForReal(adapter, {
					...{ guard: "required", protections },
				});
				const parent = everyProcess().find(
					({ pid }) => pid === worker.process.pid,
				)?.parent;
				// Otherwise nothing here is about the guard.
				expect(parent).not.toBe(process.pid);
				return worker;
			},
			commands,
			withinMs: WITHIN_MS,
		});
		// A protection does not take part in calls: in `test` a call, an end and a death stand for all.
		const cases = rows(contract, ({ title }) =>
			/^(one call after the other|leave ends the process|when the process dies, a running call)/.test(
				title,
			),
		);
		expect(cases.length).toBeGreaterThanOrEqual(3);
		// A start, a body and a stop: the contract itself finds what hangs.
		const timeout = 3 * WITHIN_MS;
		test.concurrent.each(cases)("$title", { timeout }, ({ run }) => run());
	},
);
