import type { ProcessExit } from "@snakepit/core/infrastructure";
import type { ProtectionContext } from "@snakepit/core/protection";
import { beforeEach, expect, test } from "vitest";
import {
	type VirtualWorld,
	virtualWorld,
} from "../../../core/src/testing/virtual-pool.ts";
import { resolveWatchdogOptions } from "../../src/watchdog/options.ts";
import { WatchdogKeeper } from "../../src/watchdog/watchdog.ts";
import type { WatchdogProcess } from "../../src/watchdog/watchdog-process.ts";

const OPTIONS = resolveWatchdogOptions({});
const NODE = "/usr/bin/node";

/** A watchdog that does what the test says. */
class FakeWatchdog implements WatchdogProcess {
	readonly pid = 4711;
	readonly sent: string[] = [];
	readonly #ready = Promise.withResolvers<void>();
	readonly #exited = Promise.withResolvers<ProcessExit>();
	readonly ready: Promise<void> = this.#ready.promise;
	readonly exited: Promise<ProcessExit> = this.#exited.promise;
	readonly #obeys: boolean;

	constructor(obeys: boolean) {
		this.#obeys = obeys;
		this.ready.catch(() => {});
	}

	listens(): void {
		this.#ready.resolve();
	}

	dies(exit: ProcessExit): void {
		this.#ready.reject(new Error("It ended at once."));
		this.#exited.resolve(exit);
	}

	send(line: string): void {
		this.sent.push(JSON.parse(line).type);
	}

	end(): void {
		this.sent.push("end");
		if (this.#obeys) this.dies({ kind: "code", code: 0 });
	}

	kill(): void {
		this.sent.push("kill");
		this.dies({ kind: "signal", signal: "SIGKILL" });
	}
}

let virtual: VirtualWorld;
let context: ProtectionContext;
beforeEach(() => {
	virtual = virtualWorld();
	const { clock, host, registry, events } = virtual;
	context = {
		runId: registry.runId,
		host,
		clock,
		marker: "marker",
		dataDir: "/data",
		runDirectory: "/run",
		living: () => registry.living(),
		emit: events.record,
	};
});

function types(): readonly string[] {
	return virtual.events.events.map(({ type }) => type);
}

test("a watchdog that the system cannot start is a rejection, and another attempt begins anew", async () => {
	let isBroken = true;
	const started: FakeWatchdog[] = [];
	const keeper = new WatchdogKeeper(() => {
		if (isBroken) throw new Error("spawn EAGAIN");
		const watchdog = new FakeWatchdog(true);
		started.push(watchdog);
		watchdog.listens();
		return watchdog;
	});
	await expect(keeper.protect(context, OPTIONS, NODE)).rejects.toThrow(
		"EAGAIN",
	);
	expect(types()).toEqual([]);
	isBroken = false;
	const engagement = await keeper.protect(context, OPTIONS, NODE);
	await engagement.release();
	await engagement.release();
	expect(types()).toEqual(["protection.started", "protection.ended"]);
	expect(started.map(({ sent }) => sent)).toEqual([["run", "farewell", "end"]]);
});

test("one that ends before it listens is not started again for that request", async () => {
	const started: FakeWatchdog[] = [];
	const keeper = new WatchdogKeeper(() => {
		const watchdog = new FakeWatchdog(true);
		started.push(watchdog);
		watchdog.dies({ kind: "code", code: 1 });
		return watchdog;
	});
	await expect(keeper.protect(context, OPTIONS, NODE)).rejects.toThrow(
		"ended at once",
	);
	await virtual.clock.advance(120_000);
	expect(started.length).toBe(1);
	expect(types()).toEqual([]);
});

test("one that ignores the farewell is killed, and blocks nothing for ever", async () => {
	const watchdog = new FakeWatchdog(false);
	watchdog.listens();
	const keeper = new WatchdogKeeper(() => watchdog);
	const engagement = await keeper.protect(context, OPTIONS, NODE);
	const released = engagement.release();
	await virtual.clock.advance(4_999);
	expect(watchdog.sent).toEqual(["run", "farewell", "end"]);
	await virtual.clock.advance(1);
	await released;
	expect(watchdog.sent.at(-1)).toBe("kill");
	expect(virtual.events.events.at(-1)).toMatchObject({
		type: "protection.ended",
		how: "released",
		exit: { kind: "signal", signal: "SIGKILL" },
	});
});

test("released while it waits to be started again, it is not started again", async () => {
	const started: FakeWatchdog[] = [];
	const keeper = new WatchdogKeeper(() => {
		const watchdog = new FakeWatchdog(true);
		started.push(watchdog);
		watchdog.listens();
		return watchdog;
	});
	const engagement = await keeper.protect(context, OPTIONS, NODE);
	for (let death = 1; death <= 2; death++) {
		started.at(-1)?.dies({ kind: "signal", signal: "SIGKILL" });
		await virtual.clock.advance(0);
	}
	// The first was replaced at once, the second will be in 100 ms.
	expect(started.length).toBe(2);
	await engagement.release();
	await virtual.clock.advance(60_000);
	expect(started.length).toBe(2);
	expect(types()).toEqual([
		"protection.started",
		"protection.ended",
		"protection.started",
		"protection.ended",
	]);
});

test("a run that is opened while the watchdog of another waits to be started again, and gets none, leaves that one its watchdog", async () => {
	let isBroken = false;
	const started: FakeWatchdog[] = [];
	const keeper = new WatchdogKeeper(() => {
		if (isBroken) throw new Error("spawn EAGAIN");
		const watchdog = new FakeWatchdog(true);
		started.push(watchdog);
		watchdog.listens();
		return watchdog;
	});
	const engagement = await keeper.protect(context, OPTIONS, NODE);
	for (let death = 1; death <= 2; death++) {
		started.at(-1)?.dies({ kind: "signal", signal: "SIGKILL" });
		await virtual.clock.advance(0);
	}
	isBroken = true;
	const other = { ...context, runId: "0000002" as typeof context.runId };
	await expect(keeper.protect(other, OPTIONS, NODE)).rejects.toThrow("EAGAIN");
	isBroken = false;
	await virtual.clock.advance(60_000);
	expect(started.length).toBe(3);
	expect(started.at(-1)?.sent).toEqual(["run"]);
	await engagement.release();
	expect(types().at(-1)).toBe("protection.ended");
});

test("one that never listens, whatever it is instead, is killed, and its run opens without it", async () => {
	const watchdog = new FakeWatchdog(false);
	const nodes: string[] = [];
	const keeper = new WatchdogKeeper((node) => {
		nodes.push(node);
		return watchdog;
	});
	const refused = expect(
		keeper.protect(context, OPTIONS, NODE),
	).rejects.toThrow("/usr/bin/node did not start the watchdog within 60 s.");
	await virtual.clock.advance(59_999);
	expect(watchdog.sent).toEqual(["run"]);
	await virtual.clock.advance(1);
	await refused;
	await virtual.clock.advance(600_000);
	expect(nodes).toEqual([NODE]);
	expect(types()).toEqual([]);
});
