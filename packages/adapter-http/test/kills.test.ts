import { describe, expect, test } from "vitest";
import { begun, node, pooled } from "./pooled.ts";

const command = node("{socket}");

describe("a worker", () => {
	test.each(["execute", "stream"] as const)(
		"that is killed in a call of pool.%s is replaced, and the call may have run",
		async (way) => {
			const { pool, events } = await pooled({ command });
			const call =
				way === "execute"
					? pool.execute("POST /sleep")
					: pool.stream("POST /silent").next();
			const failure = call.catch((error: unknown) => error);
			await begun(events);
			const pid = pool.workers()[0]?.pid ?? 0;
			process.kill(pid, "SIGKILL");
			expect(await failure).toMatchObject({
				code: "WORKER_EXITED",
				ran: "maybe",
			});
			expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
			expect(pool.workers()[0]?.pid).not.toBe(pid);
		},
	);

	test("that is killed while a client waits for it ends the lease with its own end", async () => {
		const { pool, events } = await pooled({ command });
		const lease = pool
			.use(({ fetch }) => fetch("/sleep", { method: "POST" }))
			.catch((error: unknown) => error);
		await begun(events);
		process.kill(pool.workers()[0]?.pid ?? 0, "SIGKILL");
		expect(await lease).toMatchObject({ code: "WORKER_EXITED", ran: "maybe" });
	});

	test("that is killed after a call loses none that is idempotent, on a connection that was kept", async () => {
		const { pool } = await pooled({ command });
		await pool.execute("POST /echo", 1);
		process.kill(pool.workers()[0]?.pid ?? 0, "SIGKILL");
		const retried = { retry: { attempts: 2 } };
		expect(await pool.execute("POST /echo", 2, retried)).toEqual({ echoed: 2 });
	});

	test("that dies of a safe request, sent again because its connection was kept, has begun it", async () => {
		const { pool, events } = await pooled({ command });
		await pool.execute("GET /text");
		await expect(pool.execute("GET /crash")).rejects.toMatchObject({
			code: "WORKER_EXITED",
			ran: "maybe",
		});
		const retried = events.of("call.retried");
		expect(retried).toEqual([]);
	});

	test.each([
		["answered", 1],
		["unknown", 2],
	] as const)(
		'has finished with a cancelled call as `cancelled: "%s"` says: %i are started',
		async (cancelled, workers) => {
			const { pool, events } = await pooled({ command, cancelled });
			const controller = new AbortController();
			const { signal } = controller;
			const call = pool.execute("POST /sleep", {}, { signal });
			await begun(events);
			const next = pool.execute("POST /echo", 1);
			controller.abort();
			await expect(call).rejects.toMatchObject({ code: "CALL_ABORTED" });
			expect(await next).toEqual({ echoed: 1 });
			expect(events.of("worker.ready")).toHaveLength(workers);
		},
	);

	test("that answers no request after a cancel is replaced in time", async () => {
		const { pool, events } = await pooled({ command });
		for await (const _busy of pool.stream("POST /busy")) break;
		expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
		expect(events.of("worker.ready")).toHaveLength(2);
	});

	test("that speaks no HTTP is replaced", async () => {
		const { pool, events } = await pooled({ command });
		await expect(pool.execute("POST /garble")).rejects.toMatchObject({
			code: "WORKER_EXITED",
			message: expect.stringContaining("it does not speak HTTP"),
		});
		expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
		expect(events.of("worker.ready")).toHaveLength(2);
	});

	test("that is stopped is found by the path of its health, and replaced", async () => {
		const { pool, events } = await pooled(
			{ command, health: "/text" },
			{ heartbeat: { intervalMs: 100, hungAfterMs: 500 } },
		);
		process.kill(pool.workers()[0]?.pid ?? 0, "SIGSTOP");
		await events.waitFor("worker.exited");
		expect(await pool.execute("POST /echo", 1)).toEqual({ echoed: 1 });
		expect(events.of("worker.condemned")).toMatchObject([{ reason: "hung" }]);
	});
});
