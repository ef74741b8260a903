import { expect, test } from "vitest";
import {
	formatMarker,
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
	markerOf,
} from "../../src/contract/identity.ts";
import { OrphanSweep } from "../../src/process/orphan-sweep.ts";
import type {
	FakeProcess,
	FakeProgram,
} from "../../src/testing/fake-process.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";

const idle: FakeProgram = (process) => process.idle();

/** A world, and processes in it that descend from this run's workers or from another's. */
function scene() {
	const virtual = virtualWorld();
	const { host, registry, world } = virtual;
	const marker = markerOf(registry.runId, host.self, "d");
	const plant = (
		incarnation: string | undefined,
		program: FakeProgram = idle,
		runId: string = registry.runId,
		hostPid: number = marker.hostPid,
	): FakeProcess =>
		host.plant({
			program,
			spec: {
				env: {
					[MARKER_VARIABLE]: formatMarker({
						...marker,
						runId: runId as typeof registry.runId,
						hostPid,
					}),
					...(incarnation !== undefined && {
						[INCARNATION_VARIABLE]: incarnation,
					}),
				},
			},
		});
	return { ...virtual, plant, sweep: new OrphanSweep(world) };
}

test("what a dead worker left behind is killed and reported, within a second", async () => {
	const { plant, sweep, clock, events, registry } = scene();
	const daemon = plant("w-1");
	sweep.noteEnded("w-1");
	expect(daemon.alive).toBe(true);
	await clock.advance(1_000);
	expect(daemon.received).toEqual(["SIGKILL"]);
	expect(events.of("orphan.reaped")).toMatchObject([
		{
			ofRun: registry.runId,
			pid: daemon.pid,
			how: "killed",
			foundBy: "marker",
		},
	]);
});

test("a descendant of a living worker, of another run, or of an unknown process is left alone", async () => {
	const { plant, sweep, host, events } = scene();
	const spared = [
		plant("w-2"),
		plant(undefined),
		plant("w-1", idle, "zzzzzzz"),
		plant("w-1", idle, undefined, 4_000_000),
		host.plant({
			program: idle,
			spec: { env: { [INCARNATION_VARIABLE]: "w-1" } },
		}),
	];
	sweep.noteEnded("w-1");
	sweep.finish();
	expect(spared.every(({ alive }) => alive)).toBe(true);
	expect(events.of("orphan.reaped")).toEqual([]);
});

test("workers that end together cost one look, and the next one that ends another", async () => {
	const { sweep, clock, host } = scene();
	let looks = 0;
	const marked = host.marked.bind(host);
	host.marked = () => {
		looks++;
		return marked();
	};
	sweep.noteEnded("w-1");
	await clock.advance(900);
	sweep.noteEnded("w-2");
	await clock.advance(10_000);
	expect(looks).toBe(1);
	sweep.noteEnded("w-3");
	await clock.advance(1_000);
	expect(looks).toBe(2);
});

/** Forks in the instant in which it is killed, and so do its children: `generations` times. */
function hydra(
	plant: (incarnation: string) => FakeProcess,
	generations: number,
) {
	const process = plant("w-1");
	const die = process.die.bind(process);
	process.die = (exit) => {
		if (process.alive && generations > 0) hydra(plant, generations - 1);
		die(exit);
	};
}

test("what is killed may have forked meanwhile: it looks again until none is left", () => {
	const { plant, sweep, events, host } = scene();
	hydra(plant, 3);
	sweep.noteEnded("w-1");
	sweep.finish();
	expect(host.living()).toEqual([]);
	expect(events.of("orphan.reaped")).toHaveLength(4);
});

test("a program that forks faster than it is killed does not keep it for ever", () => {
	const { plant, sweep, events } = scene();
	hydra(plant, 1_000);
	sweep.noteEnded("w-1");
	sweep.finish();
	expect(events.of("orphan.reaped")).toHaveLength(10);
});

test("one that takes its time to die is killed and reported once", () => {
	const { plant, sweep, events } = scene();
	const slow = plant("w-1");
	slow.endDelayMs = 50;
	const quick = plant("w-1");
	sweep.noteEnded("w-1");
	sweep.finish();
	expect(slow.received).toEqual(["SIGKILL"]);
	expect(events.of("orphan.reaped").map(({ pid }) => pid)).toEqual([
		slow.pid,
		quick.pid,
	]);
});

test("one that may not be killed is not reported as killed", () => {
	const { plant, sweep, events } = scene();
	plant("w-1").permitted = false;
	sweep.noteEnded("w-1");
	sweep.finish();
	expect(events.of("orphan.reaped")).toEqual([]);
});

test("looking now takes the place of looking later, and without a dead worker there is nothing to look for", async () => {
	const { plant, sweep, clock, host } = scene();
	const early = plant("w-1");
	sweep.noteEnded("w-1");
	sweep.finish();
	expect(early.alive).toBe(false);
	expect(clock.pending()).toBe(0);
	host.marked = () => expect.unreachable();
	sweep.finish();
	await clock.advance(10_000);
});

test("a look that fails is made again a second later", async () => {
	const { plant, sweep, clock, host } = scene();
	const daemon = plant("w-1");
	const marked = host.marked;
	host.marked = () => {
		throw new Error("EMFILE: too many open files");
	};
	sweep.noteEnded("w-1");
	await clock.advance(1_000);
	sweep.finish();
	expect(daemon.alive).toBe(true);
	host.marked = marked;
	await clock.advance(1_000);
	expect(daemon.alive).toBe(false);
	expect(clock.pending()).toBe(0);
});
