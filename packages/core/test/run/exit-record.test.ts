import { expect, test } from "vitest";
import type {
	KillResult,
	KillTarget,
	ProcessKiller,
} from "../../src/cleanup/process-killer.ts";
import {
	markerOf,
	type ProcessIdentity,
	type RunId,
} from "../../src/contract/identity.ts";
import type { MarkedProcess, ProcessHost } from "../../src/contract/world.ts";
import { endStrays, recordExit } from "../../src/run/start-run.ts";
import { MemoryRegistry } from "../../src/testing/memory-registry.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";
import { EventRecorder } from "../../src/testing.ts";
import { seenAs } from "../cleanup/bench.ts";
import { deadOwner, reserveWorker } from "../cleanup/crafted-run.ts";
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
		const incarnation = reserveWorker(registry);
		if (identity) registry.activate(incarnation, identity, identity.pid);
		return incarnation;
	};
	return { registry, clock, worker };
}

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

const RUN = "str1234" as RunId;

function stray(
	pid: number,
	runId = RUN,
	incarnation: string | undefined = `${runId}-1`,
): MarkedProcess {
	return {
		identity: deadOwner({ pid }),
		groupId: pid,
		marker: markerOf(runId, machine.self, "d"),
		incarnation,
		name: `stray ${pid}`,
	};
}

/** Each target meets the fate that its pid has here. */
function killerOf(
	fates: Readonly<Record<number, KillResult<KillTarget>["fate"]>>,
): Pick<ProcessKiller, "end"> {
	return {
		end: async (find) =>
			(await find()).map((target) => {
				const fate = fates[target.identity.pid];
				if (fate === undefined) throw new Error("It is none of this run's.");
				return { target, fate };
			}),
	};
}

test("what carries the marker of a run that ends is reported as it ended, and what does not end is named", async () => {
	const events = new EventRecorder();
	const marked = [
		stray(101),
		stray(102),
		stray(103),
		stray(104, "oth1234" as RunId),
	];
	// A program of the host itself, as a companion is.
	const ownProgram = { ...stray(105), incarnation: undefined };
	const survivors = await endStrays({
		...{ runId: RUN, clock: new VirtualClock(), emit: events.record },
		host: seenAs({ marked: () => [...marked, ownProgram] }),
		killer: killerOf({ 101: "ended_on_term", 102: "killed", 103: "survived" }),
	});
	expect(survivors).toEqual([{ pid: 103, name: "stray 103" }]);
	expect(events.of("orphan.reaped").map(({ pid, how }) => [pid, how])).toEqual([
		[101, "ended_on_term"],
		[102, "killed"],
	]);
	expect(events.of("orphan.spared").map(({ pid }) => pid)).toEqual([103]);
});
