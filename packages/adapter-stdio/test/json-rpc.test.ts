import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { CallProgress } from "@snakepit/core/adapter";
import {
	adapterContract,
	type ContractCommands,
	startForReal,
} from "@snakepit/core/testing";
import { describe, expect, test } from "vitest";
import { rows } from "../../../scripts/test-effort.ts";
import { testPool } from "../../../scripts/test-pool.ts";
import {
	type JsonRpcOptions,
	type JsonRpcProgress,
	jsonRpc,
} from "../src/index.ts";

const program = fileURLToPath(
	new URL("programs/text-tools.pl", import.meta.url),
);
/** More than a pipe holds. */
const long = "x".repeat(200_000);
/** The tokens of progress are the ids of the requests. */
const progress: JsonRpcProgress = {
	ask: (params) => params,
	read: (method, params) =>
		method === "$/progress"
			? (params as { token: unknown; value: unknown })
			: undefined,
};
const perl: JsonRpcOptions = { command: ["perl", program], progress };
const ruby: JsonRpcOptions = {
	command: ["ruby", program.replace(/pl$/, "rb")],
	framing: "content-length",
	progress,
};
const hasRuby =
	spawnSync("ruby", ["-rjson", "-e", "exit RUBY_VERSION >= '3.1'"]).status ===
	0;
const commands: ContractCommands = {
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
	// Its answer is longer than a message may be.
	breakConversation: { command: "echo", args: ["x".repeat(300_000)] },
};

describe("jsonRpc() with a program in Perl keeps the adapter contract", () => {
	const contract = adapterContract({
		adapter: () => jsonRpc({ ...perl, maxMessageBytes: 250_000 }),
		start: (adapter) => startForReal(adapter),
		commands: {
			...commands,
			strayLine: { command: "garble", args: {}, result: "went on" },
			endOutput: { command: "mute", args: {} },
			lastAnswer: { command: "finish", args: [long], result: [long] },
			leaveSlowly: { command: "linger", args: {} },
		},
	});
	test.each(contract)("$title", ({ run }) => run());
});

// Several requests at a time, and messages with a header.
describe.runIf(hasRuby)(
	`jsonRpc() with a program in Ruby keeps the adapter contract${hasRuby ? "" : " (skipped: no Ruby 3.1)"}`,
	() => {
		const contract = adapterContract({
			adapter: () => jsonRpc({ ...ruby, maxMessageBytes: 250_000 }),
			start: (adapter) => startForReal(adapter, { callsPerWorker: 4 }),
			callsPerWorker: 4,
			withinMs: 25_000,
			// A line that is no header breaks the conversation.
			commands: {
				...commands,
				breakConversation: { command: "garble", args: {} },
			},
		});
		test.each(
			rows(contract, ({ title }) =>
				/^aborting|at once|^a broken conversation/.test(title),
			),
		)("$title", ({ run }) => run());
	},
);

describe("jsonRpc() that gets no answer to what it cancels", () => {
	const contract = adapterContract({
		adapter: () => jsonRpc({ ...perl, cancelled: "unknown" }),
		start: (adapter) => startForReal(adapter),
		commands: {
			echo: { command: "echo", args: [1], result: [1] },
			unconfirmed: { command: "wait", args: {} },
		},
	});
	test.each(contract.filter(({ title }) => /does not confirm/.test(title)))(
		"$title",
		({ run }) => run(),
	);
});

describe("a pool of it", () => {
	const pooled = (options: Partial<JsonRpcOptions> = {}) =>
		testPool({ adapter: jsonRpc({ ...perl, ...options }) });

	test("answers calls, and a task with its client", async () => {
		const { pool } = await pooled({
			ready: async (client, signal) => ({
				echoed: await client.request("echo", { version: 5 }, { signal }),
			}),
		});
		expect(await pool.execute("words", { text: "a B b" })).toEqual({
			a: 1,
			b: 2,
		});
		const parts: unknown[] = [];
		expect(
			await pool.use(async (client) => [
				await client.request("echo", { n: 1 }),
				await client.request(
					"count",
					{ to: 2 },
					{ onPart: (part) => parts.push(part) },
				),
			]),
		).toEqual([{ n: 1 }, "counted"]);
		expect(parts).toEqual([1, 2]);
		expect(pool.workers()).toMatchObject([
			{ facts: { echoed: { version: 5 } } },
		]);
		await expect(
			pool.use((client) => client.request("fail", {})),
		).rejects.toMatchObject({
			code: "TOOL_FAILED",
			remote: {
				type: "JSON-RPC error -32000",
				message: "on purpose",
				data: "line 7",
			},
		});
	});

	test("reports how far a call is, where the protocol says so", async () => {
		const report = (value: unknown) => ({ fraction: Number(value) / 4 });
		const { pool } = await pooled({
			progress: { ...(perl.progress as JsonRpcProgress), report },
		});
		const fractions: unknown[] = [];
		const onProgress = ({ fraction }: CallProgress) =>
			void fractions.push(fraction);
		expect(await pool.execute("count", { to: 4 }, { onProgress })).toBe(
			"counted",
		);
		// The first and the last of them are never left out.
		expect([fractions.at(0), fractions.at(-1)]).toEqual([0.25, 1]);
		expect(await pool.execute("count", { to: 2 })).toBe("counted");
		expect(fractions.at(-1)).toBe(1);
	});

	test("answers what its program asks, and hands on its notifications", async () => {
		const { pool, events } = await pooled({
			handlers: {
				"host/double": (params) => (params as { number: number }).number * 2,
			},
		});
		expect(await pool.execute("ask")).toBe(42);
		await pool.execute("announce");
		expect(events.of("worker.notified")).toMatchObject([
			{ notification: "news", data: { what: "announced" } },
		]);
	});

	test("refuses what its program asks and no handler answers", async () => {
		const { pool } = await pooled();
		expect(await pool.execute("ask")).toMatchObject({ code: -32601 });
	});

	test.each([
		["exit 7", "exited with code 7 while it ran this call"],
		["kill -KILL $$", "was ended by SIGKILL while it ran this call"],
		["kill -SEGV $$", "was ended by SIGSEGV while it ran this call"],
	])(
		"whose program ends in a call by `%s` says so in the error",
		async (end, words) => {
			const { pool } = await pooled({
				command: ["sh", "-c", `read call; echo oops >&2; ${end}`],
			});
			await expect(pool.execute("work")).rejects.toMatchObject({
				code: "WORKER_EXITED",
				ran: "maybe",
				message: expect.stringMatching(
					new RegExp(`${words}\\b[^]*\\n {2}\\| oops$`),
				),
			});
		},
	);

	test("whose program ends at its start says how", async () => {
		const pool = pooled({
			command: ["sh", "-c", "echo oops >&2; exit 4"],
			ready: async (client, signal) => ({
				hello: await client.request("hello", {}, { signal }),
			}),
		});
		await expect(pool).rejects.toMatchObject({
			code: "WORKER_EXITED_EARLY",
			message: expect.stringMatching(
				/exited with code 4 before it was ready\.[\s\S]*\n {2}\| oops$/,
			),
		});
	});

	test("goes on after a stray line, which it logs", async () => {
		const { pool, events } = await pooled();
		expect(await pool.execute("garble")).toBe("went on");
		expect(events.of("worker.logged")).toMatchObject([
			{
				record: {
					level: "warning",
					message: expect.stringContaining("this is not JSON"),
				},
			},
		]);
	});

	test("gives its program no variable of the host but the harmless ones", async () => {
		process.env["SNAKEPIT_TEST_SECRET"] = "secret";
		const { pool } = await pooled({ env: { MINE: "1" } });
		delete process.env["SNAKEPIT_TEST_SECRET"];
		const names = (await pool.execute("environment")) as string[];
		expect(names).toContain("MINE");
		expect(names).toContain("PATH");
		expect(names).not.toContain("SNAKEPIT_TEST_SECRET");
	});

	test.each([
		["immediately", "free", 1],
		["unknown", "replaced", 2],
	] as const)(
		"with a program that never answers what was cancelled, %s means that its worker is %s",
		async (cancelled, _is, workers) => {
			const { pool, events } = await pooled({ cancelled });
			const controller = new AbortController();
			const call = pool.execute("wait", {}, { signal: controller.signal });
			const dispatched = pool.execute("echo", {});
			controller.abort();
			await expect(call).rejects.toMatchObject({ code: "CALL_ABORTED" });
			await dispatched;
			const ready = events.of("worker.ready");
			expect(ready).toHaveLength(workers);
		},
	);
});

test.each([
	[{}, '"command" must be an array of strings that begins with the program'],
	[{ command: [] }, '"command" must be'],
	[
		{ command: ["x"], framing: "line" },
		'"framing" must be "lines" or "content-length"',
	],
	[{ command: ["x"], cancell: "none" }, 'Did you mean "cancel"?'],
] as const)("%j is refused", (options, message) => {
	expect(() => jsonRpc(options as never)).toThrow(message);
});
