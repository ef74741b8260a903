import type {
	ObservedPool,
	PoolLook,
	WorkerUsage,
} from "@snakepit/core/instrument";
import type { MetricName } from "../catalogue/metrics.ts";
import { METRICS } from "../catalogue/metrics.ts";
import type { Limits } from "../limits.ts";
import type { MetricAttributes } from "./meters.ts";

type Report = (
	name: MetricName,
	value: number,
	attributes: MetricAttributes,
) => void;

interface Series {
	readonly name: MetricName;
	readonly attributes: MetricAttributes;
}

/** When an orphan and a host's death were last seen, as Unix time in seconds. */
export class Sightings {
	orphanSeconds: number | undefined;
	activationSeconds: number | undefined;

	orphan(): void {
		this.orphanSeconds = Date.now() / 1_000;
	}

	activation(): void {
		this.activationSeconds = Date.now() / 1_000;
	}
}

/** Processor time of one slot over all its incarnations: a sum that never decreases. */
export class CpuClock {
	/** Of incarnations that have ended. */
	#goneMs = 0;
	/** By incarnation: a worker and the starting replacement share a slot. */
	readonly #livingMs = new Map<string, number>();

	/** Takes a sample and returns milliseconds since the slot was first seen. */
	advance(
		sample: readonly Pick<WorkerUsage, "incarnation" | "cpuTimeMs">[],
	): number {
		for (const [incarnation, lastMs] of this.#livingMs) {
			if (sample.some((each) => each.incarnation === incarnation)) continue;
			this.#livingMs.delete(incarnation);
			this.#goneMs += lastMs;
		}
		let sum = this.#goneMs;
		for (const { incarnation, cpuTimeMs } of sample) {
			// The sample does not include the time of children that have ended.
			const ms = Math.max(cpuTimeMs, this.#livingMs.get(incarnation) ?? 0);
			this.#livingMs.set(incarnation, ms);
			sum += ms;
		}
		return sum;
	}
}

/** Reads the observed metrics of every pool when metrics are collected. */
export class Observations {
	/** The clocks of its slots, by worker id. */
	readonly #pools = new Map<ObservedPool, Map<string, CpuClock>>();
	readonly #sightings: Sightings;
	readonly #limits: Limits;
	/** The series of the latest collection. */
	#seen = new Map<string, Series>();

	constructor(sightings: Sightings, limits: Limits) {
		this.#sightings = sightings;
		this.#limits = limits;
	}

	add(pool: ObservedPool): void {
		this.#pools.set(pool, new Map());
	}

	remove(pool: ObservedPool): void {
		this.#pools.delete(pool);
	}

	readonly look = (report: Report): void => {
		const before = this.#seen;
		this.#seen = new Map();
		this.#look((name, value, attributes) => {
			this.#seen.set(JSON.stringify([name, attributes]), { name, attributes });
			report(name, value, attributes);
		});
		// An SDK repeats the last value of a series for ever: a series that has ended is reported as 0.
		for (const [key, { name, attributes }] of before)
			if (!this.#seen.has(key) && METRICS[name].kind !== "observed counter")
				report(name, 0, attributes);
	};

	#look(report: Report): void {
		const runs = new Set<string>();
		const ledger = { commits: 0, commitMs: 0, unwritten: 0 };
		for (const [pool, clocks] of this.#pools) {
			const { commits, commitMs, unwritten } = this.#lookAt(
				pool,
				clocks,
				report,
			);
			// Pools with one ledger share its figures.
			if (runs.has(pool.runId)) continue;
			runs.add(pool.runId);
			ledger.commits += commits;
			ledger.commitMs += commitMs;
			ledger.unwritten += unwritten;
		}
		const { orphanSeconds, activationSeconds } = this.#sightings;
		if (orphanSeconds !== undefined)
			report("snakepit.orphan.last_seen", orphanSeconds, {});
		if (activationSeconds !== undefined)
			report("snakepit.protection.last_activation", activationSeconds, {});
		if (runs.size === 0) return;
		report("snakepit.registry.commits", ledger.commits, {});
		report("snakepit.registry.commit.time", ledger.commitMs / 1_000, {});
		report("snakepit.registry.unwritten", ledger.unwritten, {});
	}

	/** Commands beyond the limit share a series: that of the oldest. */
	#ages({ oldest }: PoolLook): ReadonlyMap<string, number> {
		const ages = new Map<string, number>();
		for (const { command, forMs } of oldest) {
			const name = this.#limits.command(command);
			ages.set(name, Math.max(forMs, ages.get(name) ?? 0));
		}
		return ages;
	}

	#lookAt(
		pool: ObservedPool,
		clocks: Map<string, CpuClock>,
		report: Report,
	): ReturnType<ObservedPool["look"]> {
		const about = { "snakepit.pool.name": pool.name };
		const look = pool.look();
		report("snakepit.call.active", look.running, about);
		for (const [command, forMs] of this.#ages(look))
			report("snakepit.attempt.age", forMs / 1_000, {
				...about,
				"snakepit.command": command,
			});
		report("snakepit.call.queued", look.waiting, about);
		if (Number.isFinite(look.queueLimit))
			report("snakepit.call.queue.limit", look.queueLimit, about);
		for (const [outcome, count] of Object.entries(look.settled)) {
			const attributes = { ...about, "snakepit.call.outcome": outcome };
			report("snakepit.call.settled", count, attributes);
		}
		report("snakepit.session.count", look.sessions, about);
		report("snakepit.worker.min", look.size.min, about);
		report("snakepit.worker.max", look.size.max, about);
		for (const [state, count] of Object.entries(look.workers)) {
			// Exited workers no longer belong to the pool.
			if (state === "exited") continue;
			const attributes = { ...about, "snakepit.worker.state": state };
			report("snakepit.worker.count", count, attributes);
		}
		for (const [workerId, usages] of bySlot(pool.usage())) {
			const attributes = { ...about, "snakepit.worker.id": workerId };
			const bytes = usages.reduce((sum, each) => sum + each.residentBytes, 0);
			report("snakepit.worker.memory.usage", bytes, attributes);
			const clock = clocks.get(workerId) ?? new CpuClock();
			clocks.set(workerId, clock);
			const cpuMs = clock.advance(usages);
			report("snakepit.worker.cpu.time", cpuMs / 1_000, attributes);
		}
		return look;
	}
}

/** A worker and its starting replacement share a slot. */
function bySlot(
	usages: readonly WorkerUsage[],
): ReadonlyMap<string, readonly WorkerUsage[]> {
	const slots = new Map<string, WorkerUsage[]>();
	for (const usage of usages) {
		const slot = slots.get(usage.workerId);
		if (slot === undefined) slots.set(usage.workerId, [usage]);
		else slot.push(usage);
	}
	return slots;
}
