import { expect, test } from "vitest";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import type { ProgramTimes } from "../../src/os/this-program.ts";
import { Standstills, standstillBetween } from "../../src/run/standstills.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** A program that was looked at, and again `passedMs` later. */
function judged(
	passedMs: number,
	isContinued: boolean,
	{ suspendedMs = 0, processorMs = 0 } = {},
) {
	const before = { nowMs: 1_000, machineMs: 70_000, processorMs: 300 };
	const now = {
		nowMs: 1_000 + passedMs,
		machineMs: 70_000 + passedMs + suspendedMs,
		processorMs: 300 + processorMs,
	};
	return standstillBetween(before, now, isContinued);
}

test("an event loop that turns, or is late by less than two seconds, is no standstill, whatever it got", () => {
	expect(judged(1_000, false)).toBeUndefined();
	expect(judged(2_990, true)).toBeUndefined();
	// The clocks of machine and program are not read in one moment.
	expect(judged(1_000, false, { suspendedMs: 20 })).toBeUndefined();
});

test("late, and continued by SIGCONT: it was stopped, unless it computed meanwhile", () => {
	expect(judged(6_000, true, { processorMs: 4 })).toEqual({
		...{ kind: "stopped", durationMs: 5_000, processorMs: 4 },
	});
	expect(judged(6_000, true, { processorMs: 4_900 })?.kind).toBe("blocked");
});

test("late without a signal: its event loop was blocked, also where it waited", () => {
	expect(judged(4_000, false)).toEqual({
		...{ kind: "blocked", durationMs: 3_000, processorMs: 0 },
	});
});

test("the machine was suspended: its clock went on, and that of the program did not", () => {
	const suspendedMs = 3_600_000;
	expect(judged(1_000, false, { suspendedMs })).toMatchObject({
		...{ kind: "suspended", durationMs: suspendedMs },
	});
	expect(judged(1_500, true, { suspendedMs })).toMatchObject({
		...{ kind: "suspended", durationMs: suspendedMs + 500 },
	});
});

class Bench {
	readonly clock = new VirtualClock();
	readonly events: SnakepitEvent[] = [];
	/** What SIGCONT calls; `undefined` while nothing listens. */
	continued: (() => void) | undefined;
	debugged = false;
	readonly standstills: Standstills;

	constructor() {
		const times: ProgramTimes = {
			machineMs: () => this.clock.now(),
			processorMs: () => 0,
			onContinued: (listener) => {
				this.continued = listener;
				return () => {
					this.continued = undefined;
				};
			},
		};
		this.standstills = new Standstills({
			...{ clock: this.clock, times },
			host: { debuggerAttached: () => this.debugged },
			emit: (event) => this.events.push(event),
		});
	}
}

test("each standstill is reported once, with its beginning; a signal of an earlier one does not count", async () => {
	const bench = new Bench();
	const { clock, events } = bench;
	await clock.advance(10_000);
	expect(events).toEqual([]);
	clock.stall(6_000);
	bench.continued?.();
	await clock.advance(10_000);
	expect(events).toMatchObject([
		{ type: "host.stood_still", kind: "stopped", durationMs: 5_000 },
	]);
	const [{ wallMs, sinceWallMs } = { wallMs: 0, sinceWallMs: 0 }] =
		events as readonly { wallMs: number; sinceWallMs: number }[];
	expect(wallMs - sinceWallMs).toBe(5_000);
	clock.stall(4_000);
	await clock.advance(10_000);
	expect(events.slice(1)).toMatchObject([{ kind: "blocked" }]);
});

test("at a breakpoint of a debugger nothing is reported, and nothing after the end", async () => {
	const bench = new Bench();
	const { clock, events, standstills } = bench;
	bench.debugged = true;
	clock.stall(60_000);
	await clock.advance(2_000);
	expect(events).toEqual([]);
	bench.debugged = false;
	standstills.stop();
	expect(bench.continued).toBeUndefined();
	expect(clock.pending()).toBe(0);
	clock.stall(60_000);
	await clock.advance(2_000);
	expect(events).toEqual([]);
});
