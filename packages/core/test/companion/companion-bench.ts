import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { EventOf, SnakepitEventType } from "../../src/contract/events.ts";
import type { PoolOptions } from "../../src/options/pool-options.ts";
import type { Pool } from "../../src/pool/pool.ts";
import { openRun } from "../../src/run/open-run.ts";
import type { Run } from "../../src/run/run.ts";
import { EventRecorder } from "../../src/testing.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";
import { accompaniedAdapter } from "./accompanied-adapter.ts";

/** What keeps-company.cjs can be made to do. */
export type Habit = "refuses" | "slow" | "lingers";

/** A real run, for a pool whose workers need a companion. */
export interface CompanionBench {
	readonly run: Run;
	readonly events: EventRecorder;
	readonly adapter: ReturnType<typeof accompaniedAdapter>;
	/** Opens the pool; closed when the test is finished. Each companion has these habits until they are taken back. */
	open(options?: Partial<PoolOptions>): Promise<Pool>;
	has(habit: Habit): void;
	hasNoMore(habit: Habit): void;
	/** The next event of a type that fits, from now on. */
	next<Type extends SnakepitEventType>(
		type: Type,
		fits?: (event: EventOf<Type>) => boolean,
	): Promise<EventOf<Type>>;
	/** Sends a signal to the companion that was started last. Returns its pid. */
	signal(signal: NodeJS.Signals): number;
}

/** A start of two programs, on a busy machine. */
const TIME_LIMIT_MS = 30_000;

/** @param dataDir of its ledger. */
export async function companionBench(
	dataDir: string = temporaryDirectory(),
): Promise<CompanionBench> {
	const events = new EventRecorder();
	const habits = temporaryDirectory();
	const run = await openRun({ dataDir });
	onTestFinished(() => run.close({ manner: "forced" }));
	const adapter = accompaniedAdapter(habits);
	return {
		run,
		events,
		adapter,
		open: (options = {}) =>
			run.createPool({
				adapter,
				name: "p",
				size: 2,
				heartbeat: "off",
				output: { echo: "none" },
				// Those of the run have their end after the test.
				onEvent: (event) => {
					if ("pool" in event || event.type === "run.located")
						events.record(event);
				},
				// A slot whose failures counted would stay empty.
				start: { maxRestarts: 0, backoffMs: 1 },
				...options,
			}),
		has: (habit) => writeFileSync(join(habits, habit), ""),
		hasNoMore: (habit) => rmSync(join(habits, habit)),
		next: (type, fits) => events.next(type, fits, TIME_LIMIT_MS),
		signal: (signal) => {
			const started = events.of("companion.started").at(-1);
			// Pid 0 would be the group of this very program.
			if (started === undefined) throw new Error("There is no companion.");
			process.kill(started.pid, signal);
			return started.pid;
		},
	};
}
