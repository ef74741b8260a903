import { describe, expect, test } from "vitest";
import { begun, pooled } from "./pooled.ts";
import { fastApi, needsPython, python, uvicorn } from "./uvicorn.ts";

describe.runIf(python)(`uvicorn and FastAPI${needsPython}`, () => {
	test("that is killed in a call is replaced, and other calls go on", async () => {
		const { pool, events } = await pooled(fastApi);
		const call = pool.execute("POST /sleep").catch((error: unknown) => error);
		await begun(events);
		process.kill(pool.workers()[0]?.pid ?? 0, "SIGKILL");
		expect(await call).toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
		expect(
			await pool.execute("GET /users/{name}", { name: "a b", limit: 3 }),
		).toEqual({ name: "a b", limit: 3 });
		expect(await Array.fromAsync(pool.stream("GET /events"))).toMatchObject([
			{ data: "one" },
			{ event: "part", data: "two\nlines", id: "7" },
			{ data: "[DONE]" },
		]);
		const broken = Array.fromAsync(pool.stream("POST /breaks-off"));
		await expect(broken).rejects.toMatchObject({
			code: "TOOL_FAILED",
			remote: { type: "incomplete response" },
		});
		await expect(
			pool.execute("GET /users/{name}", { name: "a", limit: "x" }),
		).rejects.toMatchObject({
			code: "TOOL_FAILED",
			message: expect.stringContaining("HTTP 422"),
		});
	});

	test("accept on a socket that they inherit", async () => {
		const { pool } = await pooled({
			...fastApi,
			command: uvicorn("--fd", "{fd}"),
			listen: "inherited",
		});
		expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
	});

	test.runIf(process.platform === "linux")(
		"on a port with two processes listens there, and the end of one of them ends no other call",
		async () => {
			const { pool } = await pooled({
				...fastApi,
				command: uvicorn("--port", "{port}", "--workers", "2"),
				listen: "tcp",
			});
			const { pid } = (await pool.execute("GET /health")) as { pid: number };
			expect(pid).not.toBe(pool.workers()[0]?.pid);
			process.kill(pid, "SIGKILL");
			const after = (await pool.execute("GET /health")) as { pid: number };
			expect(after.pid).not.toBe(pid);
			expect(pool.workers()[0]?.callsTaken).toBe(2); // Of the same worker.
		},
	);
});
