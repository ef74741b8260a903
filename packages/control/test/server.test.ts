import { once } from "node:events";
import { describe, expect, test } from "vitest";
import type { LogUpdate } from "../src/control-client.ts";
import type { FailedCall } from "../src/controlled-run.ts";
import { clientOf, exchange, poolSnapshot, serve, TOKEN } from "./fake-run.ts";

function failedCall(more: Partial<FailedCall>): FailedCall {
	return {
		...{ wallMs: 1, pool: "demo", callId: "c1", command: "sum" },
		...{ outcome: "failed", code: "TOOL_FAILED", message: "no paper" },
		...{ ran: "maybe", args: { path: "a.png" }, attempts: 1 },
		...{ waitedMs: 0, ranMs: 1, totalMs: 1, alike: 0, ...more },
	};
}

describe("a request", () => {
	test("without the right token is refused, whatever it asks for", async () => {
		const served = await serve();
		using client = clientOf(served, "wrong");
		for (const ask of [
			() => client.state(),
			() => client.tools("demo"),
			() => client.failedCalls(),
			() => client.act("demo", "pause"),
			() => client.call({ pool: "demo", command: "echo" }),
			() => client.events().next(),
			() => client.logs().next(),
		])
			await expect(ask()).rejects.toMatchObject({ code: "WRONG_TOKEN" });
		expect(served.run.recorded).toEqual([]);
	});

	test.each(["read", "logs", "act", "call"] as const)(
		"with the scope %s alone is answered, and no other",
		async (scope) => {
			const served = await serve([scope]);
			using client = clientOf(served);
			const asks = {
				read: () => client.state(),
				logs: async () => {
					const logs = client.logs();
					expect((await logs.next()).value).toEqual({ kind: "following" });
					served.run.happened("logs", {
						...{ type: "worker.output", wallMs: 1, pool: "demo" },
						...{ stream: "stdout", line: "hello", cut: false },
					});
					expect((await logs.next()).value).toMatchObject({
						line: { from: "stdout", text: "hello" },
					});
					await logs.return();
				},
				act: () => client.act("demo", "pause"),
				call: () => client.call({ pool: "demo", command: "echo" }),
			};
			for (const [name, ask] of Object.entries(asks))
				if (name === scope) await ask();
				else
					await expect(ask()).rejects.toMatchObject({
						code: "SCOPE_NOT_ALLOWED",
						message: expect.stringContaining(`"${name}"`),
					});
		},
	);

	test("for a pool that there is not names those that there are", async () => {
		const served = await serve();
		using client = clientOf(served);
		await expect(client.act("nemo", "pause")).rejects.toMatchObject({
			code: "NO_SUCH_POOL",
			message: 'There is no pool "nemo" in this run; open pools: "demo".',
		});
		served.run.pools = [];
		await expect(client.tools("nemo")).rejects.toThrow("none is open");
	});

	test.each([
		["POST", "/v1/state", 405],
		["GET", "/v1/pools/demo/kill", 405],
		["POST", "/v1/pools/demo/tools", 405],
		["GET", "/v2/state", 404],
		["GET", "/v1/pools/demo", 404],
		["GET", "/v1/pools/demo/kill/more", 404],
		["GET", "/v1/nothing/demo/kill", 404],
		["GET", "/v1/%E0%A4%A", 404],
		["DELETE", "//", 404],
	])("%s %s is refused with %i", async (method, path, status) => {
		const { socketPath } = await serve();
		const answer = await exchange(
			socketPath,
			`${method} ${path} HTTP/1.1\r\nHost: run\r\nConnection: close\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 0\r\n\r\n`,
		);
		expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
	});

	test.each([
		["no JSON", "{", 400],
		["no object", "[1]", 400],
		["more than a mebibyte", `"${"a".repeat(1 << 20)}"`, 413],
	])("whose body is %s is refused", async (_, body, status) => {
		const { socketPath, run } = await serve();
		const answer = await exchange(
			socketPath,
			`POST /v1/pools/demo/pause HTTP/1.1\r\nHost: run\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
		);
		expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
		expect(run.recorded).toEqual([]);
	});

	test("is answered while streams of the same client are open and its calls run", async () => {
		const served = await serve();
		using client = clientOf(served);
		const abort = new AbortController();
		const { signal } = abort;
		const streams = Array.from({ length: 5 }, () => client.events(signal));
		await Promise.all(streams.map((stream) => stream.next()));
		served.run.controlled = {
			...served.run.controlled,
			call: () => new Promise(() => {}),
		};
		const calls = Array.from({ length: 5 }, () =>
			client.call({ pool: "demo", command: "wait", signal }),
		);
		const ended = Promise.allSettled(calls);
		expect((await client.state()).run.runId).toBe("abcdefg");
		abort.abort();
		await ended;
	});

	test("for failed calls is answered with those of the pool, the command, the code and the time", async () => {
		const served = await serve();
		using client = clientOf(served);
		served.run.failed = [
			failedCall({ callId: "c1", wallMs: 10 }),
			failedCall({ callId: "c2", wallMs: 20, command: "sum of" }),
			failedCall({ callId: "c3", wallMs: 30, code: "CALL_TIMEOUT" }),
			failedCall({ callId: "c1", wallMs: 40, pool: "other" }),
		];
		const ids = async (
			...filter: Parameters<typeof client.failedCalls>
		): Promise<readonly string[]> =>
			(await client.failedCalls(...filter)).map(
				({ pool, callId }) => `${pool}/${callId}`,
			);
		expect(await client.failedCalls()).toEqual(served.run.failed);
		expect(await ids({ sinceMs: 30 })).toEqual(["demo/c3", "other/c1"]);
		expect(await ids({ pool: "other" })).toEqual(["other/c1"]);
		expect(await ids({ command: "sum of" })).toEqual(["demo/c2"]);
		expect(await ids({ code: "CALL_TIMEOUT", pool: "demo" })).toEqual([
			"demo/c3",
		]);
	});

	test("that is not HTTP ends its connection", async () => {
		const { socketPath } = await serve();
		expect(await exchange(socketPath, "\0\0\0 hello\r\n\r\n")).toBe("");
	});
});

/** What a stream of logs brings until it ends, or new lines follow. */
async function kept(
	logs: AsyncIterable<LogUpdate>,
): Promise<readonly unknown[]> {
	const updates: unknown[] = [];
	for await (const update of logs) {
		if (update.kind === "following") break;
		updates.push(update.kind === "line" ? update.line.text : update);
	}
	return updates;
}

describe("lines that were printed before", () => {
	const printed = (worker: string, wallMs: number, line: string) => ({
		...{ type: "worker.output", wallMs, pool: "demo", workerId: worker },
		...{ incarnation: `${worker}-1`, stream: "stdout", line, cut: false },
	});
	const backlog = {
		events: [
			...[1, 2, 3].map((ms) => printed("demo-0", ms, `a${ms}`)),
			...[4, 5].map((ms) => printed("demo-1", ms, `b${ms}`)),
		],
		dropped: new Map([["demo-1", 7]]),
	};

	test.each([
		[{ tail: 2 }, ["b4", "b5"]],
		[{ tail: 0 }, []],
		[{ sinceMs: 3 }, [{ kind: "dropped", lines: 7 }, "a3", "b4", "b5"]],
		[{ sinceMs: 5 }, ["b5"]],
		[
			{ sinceMs: 1, tail: 4 },
			[{ kind: "dropped", lines: 7 }, "a2", "a3", "b4", "b5"],
		],
		[{ sinceMs: 0, worker: "demo-0" }, ["a1", "a2", "a3"]],
		[{ sinceMs: 0, worker: "demo-1-1", tail: 1 }, ["b5"]],
		[{ tail: 9, pool: "other" }, []],
		[{}, []],
	])(
		"and fit %j are sent first, with how many are missing",
		async (filter, lines) => {
			const served = await serve();
			served.run.kept = backlog;
			using client = clientOf(served);
			expect(await kept(client.logs(filter))).toEqual(lines);
			// The same, and the stream ends by itself.
			const once = client.logs({ ...filter, follow: false });
			expect(await kept(once)).toEqual(lines);
			expect(served.run.listeners.logs.size).toBe(0);
		},
	);

	test("all arrive, however many there are, and new ones follow them", async () => {
		const served = await serve();
		served.run.kept = {
			events: Array.from({ length: 5_000 }, (_, n) =>
				printed("demo-0", n, `${n} ${"x".repeat(200)}`),
			),
			dropped: new Map(),
		};
		using client = clientOf(served);
		const logs = client.logs({ sinceMs: 0 });
		let lines = 0;
		for await (const update of logs) {
			if (lines === 0)
				served.run.happened("logs", printed("demo-0", 30_000, "new"));
			if (update.kind !== "line") continue;
			lines++;
			if (update.line.text === "new") break;
			if (update.line.wallMs !== lines - 1)
				throw new Error(`line ${lines} is ${update.line.text}`);
		}
		expect(lines).toBe(5_001);
	});
});

test("stacks are asked for by name, with the scope of logs, and who asked is recorded", async () => {
	const served = await serve(["logs"]);
	using client = clientOf(served);
	expect(await client.stacks("demo", "demo-0")).toMatchObject({
		...{ workerId: "demo-0", how: "asked", lines: ["a stack"] },
	});
	expect(served.run.recorded).toEqual([
		{ pool: "demo", act: "stacks", target: "demo-0", by: "a test" },
	]);
	await expect(client.stacks("demo", "")).rejects.toMatchObject({
		code: "INVALID_REQUEST",
	});
	const reader = await serve(["read", "act", "call"]);
	using other = clientOf(reader);
	await expect(other.stacks("demo", "demo-0")).rejects.toMatchObject({
		code: "SCOPE_NOT_ALLOWED",
	});
});

describe("an act", () => {
	test("is recorded with who asked, and carried out with what was sent", async () => {
		const served = await serve();
		using client = clientOf(served);
		const acts: unknown[] = [];
		served.run.controlled = {
			...served.run.controlled,
			act: async (...act) => {
				acts.push(act);
				return {};
			},
		};
		await client.act("demo", "recycle", { worker: "demo-0" });
		expect(acts).toEqual([["recycle", { worker: "demo-0" }, "a test"]]);
		expect(served.run.recorded).toEqual([
			{ pool: "demo", act: "recycle", target: "demo-0", by: "a test" },
		]);
	});

	test("that fails says why, with the code of the pool", async () => {
		const served = await serve();
		using client = clientOf(served);
		const error = Object.assign(new Error("There is no such worker."), {
			code: "WORKER_NOT_FOUND",
		});
		served.run.controlled = {
			...served.run.controlled,
			act: () => Promise.reject(error),
		};
		await expect(client.act("demo", "restart")).rejects.toMatchObject({
			code: "WORKER_NOT_FOUND",
			message: "There is no such worker.",
		});
	});
});

describe("a call", () => {
	test("returns what JSON can carry, is recorded without its arguments, and has limits", async () => {
		const served = await serve();
		using client = clientOf(served);
		const value = [
			1n,
			Number.NaN,
			new Uint8Array(3),
			new Map([[1, 2]]),
			undefined,
		];
		served.run.controlled = {
			...served.run.controlled,
			call: async () => value,
		};
		const call = { pool: "demo", command: "echo", args: { secret: 1 } };
		expect(await client.call(call)).toEqual([
			...["1", "NaN", "<3 bytes>", [[1, 2]], null],
		]);
		expect(served.run.recorded).toEqual([
			{ pool: "demo", act: "call", target: "echo", by: "a test" },
		]);
		for (const wrong of [{ command: "" }, { command: "echo", timeoutMs: -1 }])
			await expect(
				client.call({ pool: "demo", ...wrong }),
			).rejects.toMatchObject({ code: "INVALID_REQUEST" });
	});

	test("shows a date by its text, and a table by its rows", async () => {
		const served = await serve();
		using client = clientOf(served);
		const row = (n: number) => ({ hidden: n, toJSON: () => ({ n }) });
		const table = {
			batches: [{ data: new Uint8Array(8) }],
			*[Symbol.iterator]() {
				for (let n = 0; ; n++) yield row(n);
			},
		};
		served.run.controlled = {
			...served.run.controlled,
			call: async () => [{ toJSON: () => "2026-01-02" }, table],
		};
		const [date, rows] = (await client.call({
			pool: "demo",
			command: "echo",
		})) as [string, unknown[]];
		expect(date).toBe("2026-01-02");
		expect(rows.slice(0, 2)).toEqual([{ n: 0 }, { n: 1 }]);
		expect(rows).toHaveLength(1_000);
	});

	test("is aborted when its client leaves", async () => {
		const served = await serve();
		using client = clientOf(served);
		const begun = Promise.withResolvers<AbortSignal>();
		served.run.controlled = {
			...served.run.controlled,
			call: ({ signal }) => {
				begun.resolve(signal);
				return new Promise(() => {});
			},
		};
		const leave = new AbortController();
		const { signal } = leave;
		const call = client.call({ pool: "demo", command: "sleep", signal });
		const aborted = await begun.promise;
		const end = once(aborted, "abort");
		leave.abort();
		await expect(call).rejects.toThrow();
		await end;
	});
});

describe("what is served", () => {
	test("includes why calls wait, and what workers use", async () => {
		const served = await serve();
		using client = clientOf(served);
		const [pool = poolSnapshot()] = served.run.pools;
		served.run.pools = [
			{
				...pool,
				workers: [],
				queue: { ...pool.queue, waiting: 2, oldestMs: 1_500 },
			},
			poolSnapshot({ pool: "other" }),
		];
		const { verdict, run } = await client.state();
		expect(verdict).toMatchObject({
			level: "trouble",
			text: "demo: no worker is alive; 2 calls wait, the oldest for 1.5 s. If it stays so, restart the program.",
		});
		expect(run.pools[0]?.queue.why).toBe("no worker is alive");
		expect(run.pools[1]?.workers[0]?.usage).toEqual({
			...{ residentBytes: 1 << 20, cpuTimeMs: 100, processors: null },
		});
	});
});
