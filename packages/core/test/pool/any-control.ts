import fc from "fast-check";
import { expect } from "vitest";
import type { Pool } from "../../src/index.ts";
import type { outcome } from "./virtual-pool.ts";

/** One change of a pool that is open, and that costs no call; workers have the ids of `virtualPool`. */
export type GentleControl =
	| {
			readonly do: "recycle";
			readonly target: number | "all";
			readonly manner: "gentle";
	  }
	| { readonly do: "pause" | "resume" }
	| { readonly do: "resize"; readonly min: number; readonly more: number };

/** Any change of a pool that is open. */
export type Control =
	| GentleControl
	| {
			readonly do: "recycle";
			readonly target: number | "all";
			readonly manner: "forced";
	  }
	| { readonly do: "restart"; readonly target: number };

const target = fc.constantFrom(0, 1, 2, "all" as const);

export const gentleControl: fc.Arbitrary<GentleControl> = fc.oneof(
	fc.record({
		do: fc.constant("recycle" as const),
		target,
		manner: fc.constant("gentle" as const),
	}),
	fc.record({ do: fc.constantFrom("pause" as const, "resume" as const) }),
	fc.record({
		do: fc.constant("resize" as const),
		min: fc.nat(2),
		more: fc.integer({ min: 1, max: 2 }),
	}),
);

export const anyControl: fc.Arbitrary<Control> = fc.oneof(
	{ weight: 3, arbitrary: gentleControl },
	{
		weight: 1,
		arbitrary: fc.record({
			do: fc.constant("recycle" as const),
			target,
			manner: fc.constant("forced" as const),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			do: fc.constant("restart" as const),
			target: fc.nat(2),
		}),
	},
);

/** Makes the change. Rejects with what it throws. */
export async function control(pool: Pool, change: Control): Promise<void> {
	switch (change.do) {
		case "recycle": {
			const { target, manner } = change;
			await pool.recycle(target === "all" ? "all" : `scripted-${target}`, {
				manner,
			});
			break;
		}
		case "restart":
			await pool.restart(`scripted-${change.target}`);
			break;
		case "resize":
			pool.resize({ min: change.min, max: change.min + change.more });
			expect(pool.statistics().size.min).toBe(change.min);
			break;
		default:
			pool[change.do]();
			expect(pool.statistics().dispatch).toBe(
				change.do === "pause" ? "paused" : "running",
			);
	}
}

/** What a change may throw where the pool becomes smaller and is closed. */
const ALLOWED = ["POOL_CLOSED", "WORKER_NOT_FOUND", "START_WITHDRAWN"];

/** @param crashes codes that a change may throw, too, where workers crash. */
export function expectControlled(
	outcomes: readonly Awaited<ReturnType<typeof outcome>>[],
	crashes: readonly string[] = ["WORKER_EXITED_EARLY", "CONNECT_FAILED"],
): void {
	for (const each of outcomes)
		if (each.kind === "error")
			expect([...ALLOWED, ...crashes]).toContain(each.code);
}
