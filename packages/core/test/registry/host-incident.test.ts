import { expect, test } from "vitest";
import { StartError } from "../../src/contract/errors.ts";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import {
	hostIncidentOf,
	parseHostIncident,
} from "../../src/registry/incidents.ts";

const hung: SnakepitEvent = {
	type: "heartbeat.hung",
	wallMs: 5,
	pool: "p",
	workerId: "p-0",
	incarnation: "aaaaaaa-1",
	cause: "idle",
	silentMs: 10_000,
	missedInARow: 3,
};
const ended = (how: "lost" | "released"): SnakepitEvent => ({
	type: "protection.ended",
	wallMs: 1,
	protection: "guard",
	pid: 3,
	exit: undefined,
	how,
});

test("a hung worker and a lost protection are incidents; a worker that is ready and a protection that was released are none", () => {
	expect([hung, ended("lost")].map(hostIncidentOf)).toEqual([
		hung,
		ended("lost"),
	]);
	const ready = { ...hung, type: "heartbeat.busy", cpuAdvancedMs: 1 } as const;
	expect([ready, ended("released")].map(hostIncidentOf)).toEqual([
		undefined,
		undefined,
	]);
});

test("a pool that could not be started is one, with its error; a pool that was closed meanwhile is none", () => {
	const failed = (code: "POOL_CLOSED" | "OUT_OF_DESCRIPTORS") =>
		hostIncidentOf({
			...{ type: "pool.start_failed", wallMs: 1, pool: "p", adapter: "a" },
			error: new StartError({ code, message: "why" } as never),
		} as SnakepitEvent);
	expect(failed("POOL_CLOSED")).toBeUndefined();
	const incident = failed("OUT_OF_DESCRIPTORS");
	expect(parseHostIncident(JSON.stringify(incident))).toMatchObject({
		type: "pool.start_failed",
		error: { name: "StartError", code: "OUT_OF_DESCRIPTORS", message: "why" },
	});
});

test("one is read from the ledger as it was written, and nothing else is", () => {
	expect(parseHostIncident(JSON.stringify(hung))).toEqual(hung);
	for (const text of [
		"{",
		"7",
		"null",
		'{"type":"run.started","wallMs":1}',
		'{"type":"heartbeat.hung","wallMs":"1"}',
	])
		expect(parseHostIncident(text)).toBeUndefined();
});
