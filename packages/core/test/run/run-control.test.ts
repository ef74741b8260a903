import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { ControlScope } from "@snakepit/control/server";
import { expect, onTestFinished, test } from "vitest";
import { EventHub } from "../../src/pool/observe/event-hub.ts";
import { RunControl } from "../../src/run/run-control.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import { type EventRecorder, scripts } from "../../src/testing.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { type VirtualPool, virtualPool } from "../pool/virtual-pool.ts";

const commands = { echo: scripts.echo };

/** A run in memory that others may look at, and the events of its own. */
function visibleRun(): {
	readonly control: RunControl;
	readonly hub: EventHub;
	readonly events: EventRecorder;
	readonly runId: string;
} {
	const { clock, random, registry, events } = virtualWorld();
	const hub = new EventHub();
	hub.subscribe(events.record);
	const control = new RunControl({
		...{ hub, clock, random, dataDir: "/data", runDirectory: "/run" },
		protections: () => ["watchdog"],
		unwritten: () => 0,
		record: () => registry.record,
		failedCalls: () => [],
		program: { name: "shop", node: "24.0.0", snakepit: "1.0.0" },
		scopes: ["read", "act"],
	});
	return { control, hub, events, runId: registry.runId };
}

function poolNamed(name: string): Promise<VirtualPool> {
	return virtualPool({ commands }, { name });
}

test("who looks at a run sees what it is, and every pool that it has", async () => {
	const { control, runId } = visibleRun();
	const [till, store] = [await poolNamed("till"), await poolNamed("store")];
	control.add(till.endpoint);
	const hide = control.add(store.endpoint);
	expect(control.look()).toMatchObject({
		...{ runId, pid: expect.any(Number), program: "shop", dataDir: "/data" },
		startedAtMs: expect.any(Number),
		wallMs: expect.any(Number),
		scopes: ["read", "act"],
		protections: ["watchdog"],
		versions: { node: "24.0.0", snakepit: "1.0.0" },
		pools: [{ pool: "till" }, { pool: "store" }],
	});
	expect(control.pool("store")).toBe(store.endpoint);
	hide();
	expect(control.look().pools).toMatchObject([{ pool: "till" }]);
	expect(control.pool("store")).toBeUndefined();
	await till.close();
	await store.close();
});

test("of two pools with one name, as while a shared one is replaced, the later one is seen", async () => {
	const { control } = visibleRun();
	const [old, young] = [await poolNamed("till"), await poolNamed("till")];
	control.add(old.endpoint);
	control.add(young.endpoint);
	young.pool.pause();
	expect(control.look().pools).toMatchObject([{ phase: "paused" }]);
	expect(control.pool("till")).toBe(young.endpoint);
	await old.close();
	await young.close();
});

test("what the workers of all pools use is known by their incarnation", async () => {
	const { control } = visibleRun();
	const till = await poolNamed("till");
	control.add(till.endpoint);
	Object.assign(till.adapter.workers[0]?.process ?? {}, { residentBytes: 7 });
	const incarnation = till.pool.workers()[0]?.incarnation ?? "";
	expect([...control.usage()]).toMatchObject([
		[incarnation, { workerId: "till-0", residentBytes: 7 }],
	]);
	await till.close();
});

test("a follower gets the events of the run and of every pool, also of one that is made later, until it leaves", async () => {
	const { control, hub } = visibleRun();
	const [early, late] = [await poolNamed("early"), await poolNamed("late")];
	control.add(early.endpoint);
	const heard: unknown[] = [];
	const leave = control.subscribe("events", (event) => {
		heard.push("pool" in event ? [event.type, event["pool"]] : [event.type]);
	});
	control.add(late.endpoint);
	const all = (): void => {
		early.pool.pause();
		late.pool.resize({ max: 3 });
		hub.emit({ type: "run.spared", wallMs: 0 } as never);
	};
	all();
	expect(heard).toEqual([
		["pool.paused", "early"],
		["pool.resized", "late"],
		["run.spared"],
	]);
	leave();
	all();
	const later = await poolNamed("later");
	control.add(later.endpoint);
	later.pool.pause();
	expect(heard).toHaveLength(3);
	for (const each of [early, late, later]) await each.close();
});

test("a follower of the logs gets what workers print, and nothing else", async () => {
	const { control, hub } = visibleRun();
	const till = await poolNamed("till");
	control.add(till.endpoint);
	const heard: string[] = [];
	control.subscribe("logs", ({ type }) => heard.push(type));
	till.pool.pause();
	hub.emit({ type: "run.spared", wallMs: 0 } as never);
	till.adapter.workers[0]?.process.output.stdout.write("two teas\n");
	await till.clock.advance(1_000);
	expect(heard).toEqual(["worker.output"]);
	await till.close();
});

test("what a client asks for is an event of the run", () => {
	const { control, events, runId } = visibleRun();
	control.record({ pool: "till", act: "pause", target: undefined, by: "ann" });
	expect(events.of("control.requested")).toMatchObject([
		{ runId, pool: "till", act: "pause", by: "ann" },
	]);
});

test("where the server cannot be loaded, a client is cut off, and the next one gets it", async () => {
	const { clock, random, registry } = virtualWorld();
	const runDirectory = temporaryDirectory();
	const [accepted, closed] = [Promise.withResolvers<Socket>(), { times: 0 }];
	let loads = 0;
	const control = new RunControl(
		{
			...{ hub: new EventHub(), clock, random, dataDir: "/data", runDirectory },
			protections: () => [],
			unwritten: () => 0,
			record: () => registry.record,
			failedCalls: () => [],
			program: { name: "shop", node: "24.0.0", snakepit: "1.0.0" },
			scopes: ["read"],
		},
		async () => {
			if (++loads === 1) throw new Error("out of descriptors");
			const server = {
				accept: accepted.resolve,
				close: () => void closed.times++,
			};
			return { serveControl: () => server } as never;
		},
	);
	await control.listen();
	const client = (): Socket => {
		const socket = connect(join(runDirectory, "control.sock"));
		onTestFinished(() => void socket.destroy());
		return socket.resume();
	};
	await once(client(), "close");
	client();
	const socket = await accepted.promise;
	onTestFinished(() => void socket.destroy());
	expect(loads).toBe(2);
	control.close();
	await expect.poll(() => closed.times).toBe(1);
});

test("a run that is open to nobody does not listen, nor does one that has ended meanwhile", async () => {
	const { clock, random, registry } = virtualWorld();
	const runDirectory = temporaryDirectory();
	const control = (scopes: readonly ControlScope[]) =>
		new RunControl({
			...{ hub: new EventHub(), clock, random, dataDir: "/data", runDirectory },
			...{
				protections: () => [],
				unwritten: () => 0,
				record: () => registry.record,
				scopes,
			},
			...{ protections: () => [], record: () => registry.record, scopes },
			failedCalls: () => [],
			program: { name: "shop", node: "24.0.0", snakepit: "1.0.0" },
		});
	const closed = control([]);
	await closed.listen();
	closed.lookAfter();
	expect(readdirSync(runDirectory)).toEqual([]);
	const ended = control(["read"]);
	const listening = ended.listen();
	ended.close();
	await listening;
	await expect.poll(() => readdirSync(runDirectory)).toEqual([]);
});
