import { beforeAll, describe, expect, test } from "vitest";
import { isThorough } from "../../../scripts/test-effort.ts";
import { testPool } from "../../../scripts/test-pool.ts";
import { type McpOptions, mcp } from "../src/index.ts";
import { pythonServer } from "./servers.ts";

const OLD = "1.30.0";
const NEW = "2.3.0";

async function pooled(server: McpOptions) {
	const asked: unknown[] = [];
	const { pool } = await testPool({
		adapter: mcp({
			...server,
			sampling: ({ messages }) => {
				asked.push(messages[0]?.content);
				return {
					model: "none",
					role: "assistant",
					content: { type: "text", text: "forty-two" },
				};
			},
		}),
		callsPerWorker: 2,
		calls: { cancelGraceMs: 20_000 },
	});
	return { pool, asked };
}

const says = (text: string) => ({ content: [{ type: "text", text }] });

describe.runIf(isThorough())("a server in Python", () => {
	// Their environments are made once, which takes minutes on a busy machine.
	beforeAll(() => [OLD, NEW].map(pythonServer), 600_000);
	test.each([
		[`with FastMCP (mcp ${OLD})`, () => pythonServer(OLD).alone],
		[`with MCPServer (mcp ${NEW})`, () => pythonServer(NEW).alone],
		[`below uv run (mcp ${NEW})`, () => pythonServer(NEW).belowUv],
		[`below uvx (mcp ${NEW})`, () => pythonServer(NEW).belowUvx],
	] as const)(
		"%s has tools, progress, sampling and errors, is cancelled, and replaced when it is killed in a call",
		async (_, server) => {
			const { pool, asked } = await pooled(server());
			const worker = () => pool.workers()[0];
			expect(worker()?.facts).toMatchObject({
				server: { name: "python" },
				tools: ["echo", "fail", "count", "wait", "ask"],
			});
			expect(await pool.execute("echo", { message: "x" })).toMatchObject(
				says("Echo: x"),
			);

			const fractions: unknown[] = [];
			const counting = pool.stream(
				"count",
				{ to: 3 },
				{ onProgress: ({ fraction }) => fractions.push(fraction) },
			);
			expect(await Array.fromAsync(counting)).toEqual(
				[1, 2, 3].map((progress) => ({ progress, total: 3 })),
			);
			expect(await counting.result).toMatchObject(says("counted"));
			expect(fractions[0]).toBe(1 / 3);
			expect(fractions.at(-1)).toBe(1);

			expect(await pool.execute("ask", { prompt: "How much?" })).toMatchObject(
				says("forty-two"),
			);
			expect(asked).toEqual([{ type: "text", text: "How much?" }]);
			await expect(pool.execute("fail", {})).rejects.toMatchObject({
				code: "TOOL_FAILED",
			});

			const controller = new AbortController();
			const cancelled = pool
				.execute("wait", {}, { signal: controller.signal })
				.catch((error: unknown) => error);
			// Requests are read in their order: when this is answered, the other one has begun.
			await pool.execute("echo", { message: "after it" });
			controller.abort();
			expect(await cancelled).toMatchObject({ code: "CALL_ABORTED" });
			const { pid = 0, incarnation } = worker() ?? {};
			expect(await pool.execute("echo", { message: "y" })).toMatchObject(
				says("Echo: y"),
			);
			expect(worker()?.incarnation).toBe(incarnation);

			const killed = pool.execute("wait", {}).catch((error: unknown) => error);
			await pool.execute("echo", { message: "after it" });
			process.kill(pid, "SIGKILL");
			expect(await killed).toMatchObject({ code: "WORKER_EXITED" });
			expect(await pool.execute("echo", { message: "z" })).toMatchObject(
				says("Echo: z"),
			);
		},
		120_000,
	);
});
