import type { ObservedPool, WorkerUsage } from "@snakepit/core/instrument";
import type { MetricName } from "../catalogue/metric-definition.ts";
import { METRICS } from "../catalogue/metrics.ts";
import { CpuClock } from "./cpu-clock.ts";
import type { MetricAttributes } from "./meters.ts";
import type { Sightings } from "./sightings.ts";

type Tell = (
	name: MetricName,
	value: number,
	attributes: MetricAttributes,
) => void;

interface Series {
	readonly name: MetricName;
	readonly attributes: MetricAttributes;
}

/** Looks at every pool that is followed, when metrics are collected. */
export class Observations {
	/** With the clocks of its slots, by worker id. */
	readonly #pools = new Map<ObservedPool, Map<string, CpuClock>>();
	readonly #sightings: Sightings;
	/** The series of the latest look. */
	#told = new Map<string, Series>();

	constructor(sightings: Sightings) {
		this.#sightings = sightings;
	}

	add(pool: ObservedPool): void {
		this.#pools.set(pool, new Map());
	}

	remove(pool: ObservedPool): void {
		this.#pools.delete(pool);
	}

	readonly look = (tell: Tell): void => {
		const before = this.#told;
		this.#told = new Map();
		this.#look((name, value, attributes) => {
			this.#told.set(JSON.stringify([name, attributes]), { name, attributes });
			tell(name, value, attributes);
		});
		// An SDK repeats the last value of a series for ever: what is no more is told as none.
		for (const [key, { name, attributes }] of before)
			if (
				!this.#told.has(key) &&
				METRICS[name].kind === "observed up-down counter"
			)
				tell(name, 0, attributes);
	};

	#look(tell: Tell): void {
		const runs = new Set<string>();
		const ledger = { commits: 0, commitMs: 0, unwritten: 0 };
		for (const [pool, clocks] of this.#pools) {
			const { commits, commitMs, unwritten } = this.#lookAt(pool, clocks, tell);
			// Pools with one ledger share its figures.
			if (runs.has(pool.runId)) continue;
			runs.add(pool.runId);
			ledger.commits += commits;
			ledger.commitMs += commitMs;
			ledger.unwritten += unwritten;
		}
		const { orphanSeconds, activationSeconds } = this.#sightings;
		if (orphanSeconds !== undefined)
			tell("snakepit.orphan.last_seen", orphanSeconds, {});
		if (activationSeconds !== undefined)
			tell("snakepit.protection.last_activation", activationSeconds, {});
		if (runs.size === 0) return;
		tell("snakepit.registry.commits", ledger.commits, {});
		tell("snakepit.registry.commit.time", ledger.commitMs / 1_000, {});
		tell("snakepit.registry.unwritten", ledger.unwritten, {});
	}

	#lookAt(
		pool: ObservedPool,
		clocks: Map<string, CpuClock>,
		tell: Tell,
	): ReturnType<ObservedPool["look"]> {
		const about = { "snakepit.pool.name": pool.name };
		const look = pool.look();
		tell("snakepit.call.active", look.running, about);
		tell("snakepit.call.queued", look.waiting, about);
		tell("snakepit.session.count", look.sessions, about);
		for (const [state, count] of Object.entries(look.workers)) {
			// Those that have exited are no workers of the pool any more.
			if (state === "exited") continue;
			const attributes = { ...about, "snakepit.worker.state": state };
			tell("snakepit.worker.count", count, attributes);
		}
		for (const [workerId, usages] of bySlot(pool.usage())) {
			const attributes = { ...about, "snakepit.worker.id": workerId };
			const bytes = usages.reduce((sum, each) => sum + each.residentBytes, 0);
			tell("snakepit.worker.memory.usage", bytes, attributes);
			const clock = clocks.get(workerId) ?? new CpuClock();
			clocks.set(workerId, clock);
			const cpuMs = clock.advance(usages);
			tell("snakepit.worker.cpu.time", cpuMs / 1_000, attributes);
		}
		return look;
	}
}

/** A worker and the one that warms up to replace it share a slot. */
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
