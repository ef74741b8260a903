import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createPool } from "@snakepit/core";
import { adapterContract, startForReal } from "@snakepit/core/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isThorough, rows } from "../../../scripts/test-effort.ts";
import { type JsonRpcOptions, jsonRpc } from "../src/index.ts";
import { dataDirectory } from "./data-directory.ts";

const at = (name: string): string =>
	fileURLToPath(new URL(`programs/${name}`, import.meta.url));
const has = (program: string, ...args: string[]): boolean =>
	spawnSync(program, args, { stdio: "ignore" }).status === 0;

/** Both answer several requests at once, and have the methods of the program in Perl; tokens are the ids of requests. */
function contractOf(options: JsonRpcOptions) {
	const contract = adapterContract({
		adapter: () =>
			jsonRpc({
				onGarbage: "break",
				progress: {
					ask: (params) => params,
					read: (method, params) =>
						method === "$/progress"
							? (params as { token: unknown; value: unknown })
							: undefined,
				},
				...options,
			}),
		start: (adapter) => startForReal(adapter, { callsPerWorker: 4 }),
		callsPerWorker: 4,
		withinMs: 25_000,
		commands: {
			echo: {
				command: "echo",
				args: { any: [1, "ü"] },
				result: { any: [1, "ü"] },
			},
			hang: { command: "wait", args: {} },
			fail: { command: "fail", args: {} },
			count: {
				command: "count",
				args: { to: 3 },
				items: [1, 2, 3],
				result: "counted",
			},
			endless: {
				command: "filler",
				args: {},
				window: 2_000,
				produced: async ({ execute }) => Number(await execute("produced", {})),
			},
			silent: { command: "wait", args: {} },
			breakConversation: { command: "garble", args: {} },
		},
	});
	test.each(
		rows(contract, ({ title }) =>
			/^aborting|at once|^a broken conversation/.test(title),
		),
	)("$title", ({ run }) => run());
	test("it counts words", async () => {
		await using pool = await createPool({
			dataDir: dataDirectory(),
			adapter: jsonRpc(options),
		});
		expect(await pool.execute("words", { text: "a B b" })).toEqual({
			a: 1,
			b: 2,
		});
	});
}

const ruby = has("ruby", "-rjson", "-e", "exit RUBY_VERSION >= '3.1'");
describe.runIf(ruby)(
	`jsonRpc() with a program in Ruby and headers keeps the adapter contract${ruby ? "" : " (skipped: no Ruby 3.1)"}`,
	() =>
		contractOf({
			command: ["ruby", at("text-tools.rb")],
			framing: "content-length",
		}),
);

const go = has("go", "version");
describe.runIf(go && isThorough())(
	`jsonRpc() with a program in Go keeps the adapter contract${go ? "" : " (skipped: no Go)"}`,
	() => {
		const place = mkdtempSync(join(tmpdir(), "snakepit-stdio-"));
		const program = join(place, "text-tools");
		beforeAll(() => {
			const { status, stderr } = spawnSync("go", ["build", "-o", program], {
				cwd: at("text-tools"),
				encoding: "utf8",
				// Nothing is asked of the network.
				env: { ...process.env, GOPROXY: "off", GOTOOLCHAIN: "local" },
			});
			if (status !== 0) throw new Error(stderr);
		}, 300_000);
		afterAll(() => rmSync(place, { recursive: true, force: true }));
		contractOf({ command: [program] });
	},
);
