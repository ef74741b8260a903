import { openRun } from "@snakepit/core";
import type { ProcessRegistry } from "@snakepit/core/registry";
import { type Case, lower } from "../case.ts";
import { openPool, ourName, ourVariants } from "../contestants/ours.ts";
import { temporaryDirectory } from "../measure.ts";

const WORKERS = 100;

export const ledger: Case = {
	name: "ledger",
	title: "The ledger's share of a start",
	about: `The time until ${WORKERS} Python workers are ready, and the part of it that the host spent writing to the ledger.`,
	figures: {
		share_percent: lower("share", "%"),
		ledger_ms: lower("reserve + activate", "ms"),
		ready_ms: lower("all ready", "ms"),
	},
	rows: ourVariants.map((variant) => ({
		name: ourName(variant.name),
		measure: async (setting) => {
			const dataDir = temporaryDirectory();
			// The pool joins this run, and writes into the registry that is watched here.
			const run = await openRun({ dataDir });
			const spent = watch(run.infrastructure.registry);
			const size = Math.min(WORKERS, setting.pace.mostWorkers);
			const began = performance.now();
			const pool = await openPool(variant, setting, { size, dataDir });
			const ready_ms = performance.now() - began;
			const { ms: ledger_ms, calls } = spent;
			if (calls < 2 * size) throw new Error("another registry was written");
			await pool.close({ drainMs: 0 });
			await run.close();
			return {
				share_percent: (ledger_ms / ready_ms) * 100,
				ledger_ms,
				ready_ms,
			};
		},
	})),
};

/** Times the two writes that a start waits for. */
function watch(registry: ProcessRegistry): { ms: number; calls: number } {
	const spent = { ms: 0, calls: 0 };
	const timed =
		<Args extends unknown[]>(write: (...args: Args) => void) =>
		(...args: Args): void => {
			const began = performance.now();
			try {
				write.apply(registry, args);
			} finally {
				spent.ms += performance.now() - began;
				spent.calls++;
			}
		};
	registry.reserve = timed(registry.reserve);
	registry.activate = timed(registry.activate);
	return spent;
}
