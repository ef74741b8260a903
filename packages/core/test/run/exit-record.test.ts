import { expect, test } from "vitest";
import { markerOf, type ProcessIdentity } from "../../src/contract/identity.ts";
import type { ProcessHost } from "../../src/contract/world.ts";
import { recordExit } from "../../src/run/start-run.ts";
import { MemoryRegistry } from "../../src/testing/memory-registry.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";
import { seenAs } from "../cleanup/bench.ts";
import { deadOwner } from "../cleanup/crafted-run.ts";
import { machine } from "../cleanup/hosts.ts";

function bench(): {
	readonly registry: MemoryRegistry;
	readonly clock: VirtualClock;
	readonly worker: (identity?: ProcessIdentity) => string;
} {
	const clock = new VirtualClock();
	const registry = new MemoryRegistry({
		clock,
		random: new SeededRandom(1),
		owner: machine.self,
	});
	const worker = (identity?: ProcessIdentity): string => {
		const incarnation = registry.nextIncarnation();
		registry.reserve({
			incarnation,
			workerId: "w-0",
			pool: "w",
			fingerprint: "x",
			files: [],
		});
		if (identity) registry.activate(incarnation, identity, identity.pid);
		return incarnation;
	};
	return { registry, clock, worker };
}

test("workers that are seen to be gone are recorded as ended by the exit of the host", () => {
	const { registry, clock, worker } = bench();
	const incarnation = worker(deadOwner());
	let pauses = 0;
	// Killed, and gone at the third look.
	const host: ProcessHost = seenAs({
		observe: () => (pauses < 2 ? deadOwner() : "gone"),
	});
	recordExit({
		registry,
		host,
		clock,
		pause: () => {
			pauses += 1;
		},
	});
	expect(registry.lookup(incarnation)?.end).toEqual({
		exit: undefined,
		reason: "host_exit",
		killer: "application_cleanup",
	});
	expect(pauses).toBe(2);
	expect(registry.state).toBe("terminated");
});

test("the exit does not wait for those that do not die: they stay on record for the next start", () => {
	const { registry, worker } = bench();
	const stuck = worker(deadOwner());
	const reserved = worker();
	let now = 0;
	const clock = {
		now: () => now,
		wall: () => 0,
		after: () => ({ cancel() {} }),
		soon: () => {},
	};
	recordExit({
		registry,
		host: seenAs({ observe: () => deadOwner() }),
		clock,
		pause: (ms) => {
			now += ms;
		},
	});
	expect(now).toBe(2_000);
	expect(registry.living().map((row) => row.incarnation)).toEqual([
		stuck,
		reserved,
	]);
	expect(registry.state).toBe("terminated");
});

test("what left its group is killed by its marker, and as long as it is seen the run stays open for the next start", () => {
	const { registry, clock } = bench();
	const stray = {
		identity: deadOwner(),
		groupId: 1,
		marker: markerOf(registry.runId, machine.self, "d"),
		incarnation: undefined,
		name: "stray",
	};
	const other = {
		...stray,
		marker: markerOf("0000000" as typeof registry.runId, machine.self, "d"),
	};
	// Another data directory may have a run of the same id.
	const namesake = {
		...stray,
		marker: markerOf(registry.runId, deadOwner(), "other"),
	};
	const killed: unknown[] = [];
	let dies = true;
	const host: ProcessHost = seenAs({
		marked: () =>
			dies && killed.length > 0 ? [other] : [namesake, stray, other],
		signal: (identity) => {
			killed.push(identity);
			return "sent";
		},
	});
	const parts = { registry, host, clock, pause: () => void clock.stall(1) };
	recordExit(parts);
	expect(killed).toEqual([stray.identity]);
	expect(registry.state).toBe("terminated");

	const second = bench();
	dies = false;
	stray.marker = markerOf(second.registry.runId, machine.self, "d");
	recordExit({ ...parts, registry: second.registry });
	expect(second.registry.state).not.toBe("terminated");
});

test("what a worker forked in its last instant carries the marker only once it executes: it is looked for again when the worker is gone", () => {
	const { registry, clock, worker } = bench();
	const stray = {
		identity: deadOwner(),
		groupId: 1,
		marker: markerOf(registry.runId, machine.self, "d"),
		incarnation: undefined,
		name: "stray",
	};
	worker(deadOwner());
	let pauses = 0;
	const killed: unknown[] = [];
	recordExit({
		registry,
		host: seenAs({
			observe: () => (pauses < 2 ? deadOwner() : "gone"),
			marked: () => (pauses < 2 || killed.length > 0 ? [] : [stray]),
			signal: (identity) => {
				killed.push(identity);
				return "sent";
			},
		}),
		clock,
		pause: () => {
			pauses += 1;
		},
	});
	expect(killed).toEqual([stray.identity]);
	expect(registry.state).toBe("terminated");
});
