import { expect, test } from "vitest";
import { type HealthFacts, healthOf } from "../../src/pool/observe/health.ts";

const WELL: HealthFacts = {
	...{ pool: "demo", phase: "open", min: 2, ready: 2, starting: 0 },
	...{ waiting: 0, limit: 10, failuresInARow: 0, next: null },
	...{ budget: { max: 3, windowMs: 60_000 }, lastFailure: undefined },
};

test("a pool with a warm worker and room in its queue is live and ready, whatever failed before", () => {
	const well = { live: true, ready: true, reasons: [] };
	expect(healthOf(WELL)).toEqual(well);
	expect(
		healthOf({ ...WELL, ready: 1, failuresInARow: 3, waiting: 9 }),
	).toEqual(well);
	const spent = { inMs: 1, after: "budget" } as const;
	expect(healthOf({ ...WELL, ready: 1, next: spent })).toEqual(well);
});

test("a pool whose first worker starts with the first call is ready for it", () => {
	const idle = { ...WELL, min: 0, ready: 0 };
	expect(healthOf(idle)).toMatchObject({ live: true, ready: true });
	expect(healthOf({ ...idle, starting: 1 })).toMatchObject({ ready: false });
	expect(healthOf({ ...idle, failuresInARow: 1 })).toMatchObject({
		...{ live: true, ready: false, reasons: [{ code: "NO_WORKER" }] },
	});
});

test.each([
	[{ ready: 0, starting: 2 }, true, "STARTING", /ready yet; 2 are starting/],
	[
		{
			...{ ready: 0, failuresInARow: 2, lastFailure: "WORKER_EXITED_EARLY" },
			next: { inMs: 1_500, after: "pause" },
		},
		true,
		"NO_WORKER",
		/no worker that is ready \(last failure: WORKER_EXITED_EARLY\); the next start is in 1\.5 s/,
	],
	[
		{ ready: 0, failuresInARow: 4, next: { inMs: 30_000, after: "budget" } },
		false,
		"RESTART_BUDGET_SPENT",
		/3 restarts in 60 s \(start\.maxRestarts\), and tries again in 30\.0 s/,
	],
	[
		{ waiting: 10 },
		true,
		"QUEUE_FULL",
		/has 10 waiting calls, and may have 10/,
	],
	[
		{ phase: "paused", waiting: 1 },
		true,
		"PAUSED",
		/is paused, and 1 call waits/,
	],
	[{ phase: "closing", ready: 0 }, true, "POOL_CLOSED", /closing/],
] as const)(
	"a pool with %j is not ready, and live is %s: %s",
	(facts, live, code, message) => {
		expect(healthOf({ ...WELL, ...(facts as Partial<HealthFacts>) })).toEqual({
			...{ live, ready: false },
			reasons: [
				{ code, pool: "demo", message: expect.stringMatching(message) },
			],
		});
	},
);

test("all reasons are named", () => {
	const { reasons } = healthOf({
		...{ ...WELL, ready: 0, starting: 1, phase: "paused", waiting: 10 },
	});
	expect(reasons.map(({ code }) => code)).toEqual([
		"STARTING",
		"PAUSED",
		"QUEUE_FULL",
	]);
});
