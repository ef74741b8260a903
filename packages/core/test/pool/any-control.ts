import fc from "fast-check";
import { expect } from "vitest";
import type { Pool } from "../../src/index.ts";
import type { outcome } from "./virtual-pool.ts";

/** One change of a pool that is open; workers have the ids of `virtualPool`. */
export type Control =
	| {
			readonly do: "recycle";
			readonly target: number | "all";
			readonly manner: "gentle" | "forced";
	  }
	| { readonly do: "restart"; readonly target: number }
	| { readonly do: "pause" | "resume" }
	| { readonly do: "resize"; readonly min: number; readonly more: number };

export const anyControl: fc.Arbitrary<Control> = fc.oneof(
	fc.record({
		do: fc.constant("recycle" as const),
		target: fc.constantFrom(0, 1, 2, "all" as const),
		manner: fc.constantFrom("gentle" as const, "forced" as const),
	}),
	fc.record({ do: fc.constant("restart" as const), target: fc.nat(2) }),
	fc.record({ do: fc.constantFrom("pause" as const, "resume" as const) }),
	fc.record({
		do: fc.constant("resize" as const),
		min: fc.nat(2),
		more: fc.integer({ min: 1, max: 2 }),
	}),
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

/** What a change may throw where workers crash, the pool becomes smaller and is closed. */
const ALLOWED: readonly unknown[] = [
	"POOL_CLOSED",
	"WORKER_NOT_FOUND",
	"WORKER_EXITED_EARLY",
	"CONNECT_FAILED",
	"START_WITHDRAWN",
];

export function expectControlled(
	outcomes: readonly Awaited<ReturnType<typeof outcome>>[],
): void {
	for (const each of outcomes)
		if (each.kind === "error") expect(ALLOWED).toContain(each.code);
}
