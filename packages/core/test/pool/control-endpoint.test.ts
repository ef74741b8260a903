import { expect, test } from "vitest";
import type {
	Adapter,
	CommandDescription,
} from "../../src/contract/adapter.ts";
import { scripts } from "../../src/testing.ts";
import { outcome, overConnections, virtualPool } from "./virtual-pool.ts";

const commands = {
	echo: scripts.echo,
	fail: scripts.fail,
	hang: scripts.hang,
	count: scripts.count,
};
const { signal } = new AbortController();

function given(command: string, args?: unknown, timeoutMs?: number) {
	return { command, args, timeoutMs, signal };
}

test("a client recycles, restarts, pauses, resumes and resizes a pool in its name", async () => {
	const { endpoint, clock, events } = await virtualPool({ commands });
	await clock.advanceUntil(
		endpoint.act("recycle", { worker: "scripted-0", manner: "forced" }, "ann"),
	);
	await clock.advanceUntil(
		endpoint.act("restart", { worker: "scripted-0" }, "bob"),
	);
	await endpoint.act("pause", {}, "cleo");
	await endpoint.act("resume", {}, "dan");
	await endpoint.act("resize", { min: 2, max: 3 }, "eve");
	expect(events.of("pool.recycle_requested")).toMatchObject([
		{ target: "scripted-0", manner: "forced", by: "ann" },
	]);
	expect(events.of("pool.restart_requested")).toMatchObject([
		{ workerId: "scripted-0", by: "bob" },
	]);
	expect(events.of("pool.paused")).toMatchObject([{ by: "cleo" }]);
	expect(events.of("pool.resumed")).toMatchObject([{ by: "dan" }]);
	expect(events.of("pool.resized")).toMatchObject([
		{ min: 2, max: 3, by: "eve" },
	]);
	expect(endpoint.look().size).toEqual({ min: 2, max: 3 });
});

test("a client that drains a pool gives its calls as long as it says", async () => {
	const { pool, endpoint, clock } = await virtualPool({ commands });
	const call = outcome(pool.execute("hang"));
	const drained = endpoint.act("drain", { drainMs: 700 }, "ann");
	await clock.advance(699);
	expect(pool.statistics().calls.running).toBe(1);
	await clock.advanceUntil(drained);
	expect(clock.now()).toBeLessThan(5_000);
	expect(await call).toMatchObject({ code: "POOL_CLOSED" });
});

test("a client that kills a pool ends its calls and workers at once", async () => {
	const { pool, endpoint, clock, host } = await virtualPool({ commands });
	const call = outcome(pool.execute("hang"));
	const killed = endpoint.act("kill", {}, "ann");
	await clock.advance(1_000);
	await killed;
	expect(await call).toMatchObject({ kind: "error" });
	expect(host.living()).toEqual([]);
});

test("a client that sends what no pool takes is told so", async () => {
	const { endpoint } = await virtualPool({ commands });
	await expect(
		endpoint.act("resize", { min: -1 }, "ann"),
	).rejects.toMatchObject({ code: "INVALID_OPTION" });
	await expect(
		endpoint.act("recycle", { worker: "nobody" }, "ann"),
	).rejects.toMatchObject({ code: "WORKER_NOT_FOUND" });
});

test("a client's call is answered once or with the items of its stream, whichever it is", async () => {
	const { endpoint } = await virtualPool({ commands });
	expect(await endpoint.call(given("echo", 7))).toBe(7);
	expect(endpoint.look().calls).toMatchObject({ accepted: 1, failed: 0 });
	// Refused at first, and known from then on.
	expect(await endpoint.call(given("count", 3))).toEqual([0, 1, 2]);
	expect(endpoint.look().calls).toMatchObject({ accepted: 3, failed: 1 });
	expect(await endpoint.call(given("count", 2))).toEqual([0, 1]);
	expect(endpoint.look().calls).toMatchObject({ accepted: 4, failed: 1 });
});

test("a client's call of a command that is described is made in the way it answers", async () => {
	const { endpoint, adapter } = await virtualPool({ commands });
	Object.assign(adapter, {
		describe: async () =>
			(["echo", "count"] as const).map((name) => ({
				...{ name, description: "", argumentsSchema: {} },
				shape: name === "echo" ? "unary" : "stream",
			})),
	} satisfies Pick<Adapter, "describe">);
	expect(await endpoint.call(given("count", 2))).toEqual([0, 1]);
	expect(await endpoint.call(given("echo", 7))).toBe(7);
	expect(endpoint.look().calls).toMatchObject({ accepted: 2, failed: 0 });
});

test("a client's call of a command that has become another one is made the other way", async () => {
	let isStream = true;
	const { endpoint } = await virtualPool({
		commands: {
			what: (call) => (isStream ? scripts.count(call) : scripts.echo(call)),
		},
	});
	expect(await endpoint.call(given("what", 1))).toEqual([0]);
	isStream = false;
	expect(await endpoint.call(given("what", 1))).toBe(1);
});

test("a client's call that fails is made once, and its error is the client's", async () => {
	const { endpoint, clock } = await virtualPool({ commands });
	await expect(endpoint.call(given("fail", "no tea"))).rejects.toThrow(
		"no tea",
	);
	expect(endpoint.look().calls.accepted).toBe(1);
	const late = outcome(endpoint.call(given("hang", 1, 500)));
	await clock.advance(500);
	expect(await late).toMatchObject({ code: "CALL_TIMEOUT" });
});

test("a client that leaves ends its call", async () => {
	const { endpoint, clock } = await virtualPool({ commands });
	const gone = new AbortController();
	const call = outcome(
		endpoint.call({ ...given("hang"), signal: gone.signal }),
	);
	await clock.advance(10);
	gone.abort();
	expect(await call).toMatchObject({ code: "CALL_ABORTED" });
});

test("a client gets a thousand items of a stream, and the rest is not made", async () => {
	let made = 0;
	const { endpoint } = await virtualPool({
		commands: {
			endless: async function* () {
				for (;;) yield made++;
			},
		},
	});
	expect(await endpoint.call(given("endless"))).toHaveLength(1_000);
	expect(made).toBeLessThan(1_100);
});

test("what a stream returns is the last item that a client gets", async () => {
	const { endpoint } = await virtualPool({
		commands: {
			counted: async function* () {
				yield "one";
				return { items: 1 };
			},
		},
	});
	expect(await endpoint.call(given("counted"))).toEqual(["one", { items: 1 }]);
});

test("a client sees the tools of a pool without what is for Snakepit alone", async () => {
	const { endpoint, adapter } = await virtualPool({ commands });
	expect(endpoint.tools(signal)).toBeUndefined();
	const described: CommandDescription = {
		name: "echo",
		description: "Says it again.",
		argumentsSchema: { type: "object" },
		shape: "unary",
		batchMax: 4,
	};
	Object.assign(adapter, {
		describe: async () => [{ ...described, handler: "secret" }],
	} satisfies Pick<Adapter, "describe">);
	expect(await endpoint.tools(signal)).toEqual([described]);
});

test("a client that follows a pool gets the events it names, until it leaves", async () => {
	const { pool, endpoint } = await virtualPool({ commands });
	const types: string[] = [];
	const leave = endpoint.subscribe(
		({ type }) => types.push(type),
		["pool.paused", "pool.resumed"],
		undefined,
	);
	pool.pause();
	pool.resize({ max: 4 });
	pool.resume();
	leave();
	pool.pause();
	expect(types).toEqual(["pool.paused", "pool.resumed"]);
});

test("what a worker uses is that of its whole group, or what its adapter measured; nothing is said of one without", async () => {
	const scene = await virtualPool({ commands }, { size: 3 });
	const { endpoint, adapter, clock, pool } = scene;
	const [first, second, third] = adapter.workers;
	if (first === undefined || second === undefined || third === undefined)
		throw new Error("three workers were asked for");
	const child = first.process.fork((process) => process.idle());
	Object.assign(first.process, { residentBytes: 100, cpuTimeMs: 7 });
	Object.assign(child, { residentBytes: 20, cpuTimeMs: 3 });
	Object.assign(third.process, { readable: false });
	expect(endpoint.usage()).toMatchObject([
		{ workerId: "scripted-0", residentBytes: 120, cpuTimeMs: 10 },
		{ workerId: "scripted-1", residentBytes: 16 * 2 ** 20, cpuTimeMs: 0 },
	]);
	overConnections(adapter, ({ usage: _, ...connection }) => ({
		...connection,
		usage: () => ({ residentBytes: 5, cpuTimeMs: 6 }),
	}));
	await clock.advanceUntil(pool.restart("scripted-1"));
	expect(endpoint.usage()).toContainEqual(
		expect.objectContaining({
			workerId: "scripted-1",
			residentBytes: 5,
			cpuTimeMs: 6,
		}),
	);
	Object.assign(third.process, { readable: true });
});
