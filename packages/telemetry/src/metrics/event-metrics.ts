import type { EventOf, SnakepitEvent } from "@snakepit/core";
import { LOSS_CODES, USUAL_CODES } from "@snakepit/core/instrument";
import type { EndReason } from "@snakepit/core/registry";
import { attributesOf, codeOf, EVENTS, seconds } from "../catalogue/events.ts";
import { METRICS, type MetricName } from "../catalogue/metrics.ts";
import { DROP_REASONS } from "../limits.ts";
import type { Meters, MetricAttributes } from "./meters.ts";
import type { Sightings } from "./observations.ts";

/** How many ended workers are remembered until their slots are taken again. */
const ENDS = 1_024;

/** Reasons for the end of a worker that are failures. */
const FAILURES: readonly EndReason[] = [
	"exited",
	"start_failed",
	"hung",
	"broken",
	"stuck",
	"companion_lost",
	"parent_lost",
	"vanished",
];

/** Why missed pings are not held against a worker. */
const SUSPENSIONS: readonly EventOf<"heartbeat.suspended">["reason"][] = [
	"host_lagged",
	"clock_jumped",
	"debugger",
];

/** How a program can stand still. */
const STANDSTILLS: readonly EventOf<"host.stood_still">["kind"][] = [
	"stopped",
	"suspended",
	"blocked",
];

const PROTECTIONS = ["watchdog", "guard"] as const;
/** How a protection finds a process. */
const FOUND = ["reported", "ledger", "group", "marker", "descent"] as const;
/** How a start finds one. */
const FOUND_BY_REAPER = ["ledger", "marker", "group", "descent"] as const;

/** Counters with one series per pool. */
const COUNTERS_OF_POOLS = (Object.keys(METRICS) as MetricName[]).filter(
	(name) => {
		const { kind, attributes } = METRICS[name];
		const [first, ...others] = attributes;
		return (
			kind === "counter" &&
			first === "snakepit.pool.name" &&
			others.length === 0
		);
	},
);

/** Records metrics from events; `CallMetrics` records those of each call. */
export class EventMetrics {
	readonly #meters: Meters;
	readonly #sightings: Sightings;
	/** Why workers ended, by incarnation. */
	readonly #ends = new Map<string, string>();
	/** When the stop of a worker was decided, by incarnation. */
	readonly #leavingMs = new Map<string, number>();
	/** When a start began, by incarnation. */
	readonly #startingMs = new Map<string, number>();

	constructor(meters: Meters, sightings: Sightings) {
		this.#meters = meters;
		this.#sightings = sightings;
	}

	/** Whether nothing is exported. */
	get isSilent(): boolean {
		return this.#meters.isSilent;
	}

	hear(event: SnakepitEvent): void {
		this.#count(event);
		switch (event.type) {
			case "worker.starting":
				this.#starting(event);
				break;
			case "worker.ready":
				this.#started(event, seconds(event.durationMs), undefined);
				break;
			case "worker.start_failed":
				this.#startFailed(event);
				break;
			case "worker.retiring":
			case "worker.condemned":
				if (!this.#leavingMs.has(event.incarnation))
					this.#leavingMs.set(event.incarnation, event.wallMs);
				break;
			case "worker.exited":
				this.#exited(event);
				break;
			case "heartbeat.answered":
				this.#meters.record(
					"snakepit.heartbeat.duration",
					seconds(event.latencyMs),
					{ "snakepit.pool.name": event.pool },
				);
		}
	}

	/** For events of the run, which several pools receive; called once for each event. */
	hearOfRun(event: SnakepitEvent): void {
		this.#count(event);
		switch (event.type) {
			case "cleanup.finished":
				this.#meters.record(
					"snakepit.cleanup.duration",
					seconds(event.durationMs),
					{},
				);
				break;
			case "orphan.reaped":
			case "audit.stray_found":
			case "orphan.spared":
				this.#sightings.orphan();
				break;
			case "protection.host_death_detected":
				this.#sightings.activation();
		}
	}

	/** Increments the counters that the catalogue names. */
	#count(event: SnakepitEvent): void {
		for (const name of EVENTS[event.type].counts ?? [])
			this.#meters.count(name, 1, this.#attributesOf(name, event));
	}

	#attributesOf(name: MetricName, event: SnakepitEvent): MetricAttributes {
		return attributesOf(event, METRICS[name].attributes) as MetricAttributes;
	}

	/** Creates series at 0: the first value of a series shows no increase. */
	begin(pool: string): void {
		const attributes = { "snakepit.pool.name": pool };
		for (const name of COUNTERS_OF_POOLS)
			this.#meters.count(name, 0, attributes);
		const zero = (name: MetricName, more: MetricAttributes): void =>
			this.#meters.count(name, 0, { ...attributes, ...more });
		for (const reason of FAILURES)
			zero("snakepit.worker.restarts", {
				"snakepit.worker.end.reason": reason,
			});
		for (const reason of SUSPENSIONS)
			zero("snakepit.heartbeat.suspended", { "snakepit.reason": reason });
		for (const code of USUAL_CODES)
			zero("snakepit.call.failures", { "error.type": code });
		for (const code of LOSS_CODES)
			zero("snakepit.call.retries", { "error.type": code });
	}

	/** The same for the series that all pools share. */
	beginRun(): void {
		const zero = (name: MetricName, attributes: MetricAttributes): void =>
			this.#meters.count(name, 0, attributes);
		zero("snakepit.orphan.found", {});
		for (const kind of STANDSTILLS)
			zero("snakepit.host.standstills", { "snakepit.reason": kind });
		for (const found of FOUND_BY_REAPER)
			zero("snakepit.orphan.killed", { "snakepit.found_by": found });
		for (const name of PROTECTIONS) {
			const protection = { "snakepit.protection.name": name };
			zero("snakepit.protection.activations", protection);
			for (const found of FOUND)
				zero("snakepit.protection.kills", {
					...protection,
					"snakepit.found_by": found,
				});
		}
		for (const reason of DROP_REASONS)
			zero("snakepit.telemetry.dropped", { "snakepit.drop.reason": reason });
	}

	#starting({
		pool,
		incarnation,
		replaces,
		wallMs,
	}: EventOf<"worker.starting">): void {
		this.#startingMs.set(incarnation, wallMs);
		if (replaces === undefined) return;
		// A worker that still exists is replaced because it is worn.
		const reason = this.#ends.get(replaces) ?? "recycled";
		this.#ends.delete(replaces);
		this.#meters.count("snakepit.worker.restarts", 1, {
			"snakepit.pool.name": pool,
			"snakepit.worker.end.reason": reason,
		});
	}

	#started(
		{
			pool,
			incarnation,
		}: { readonly pool: string; readonly incarnation: string },
		duration: number,
		error: string | undefined,
	): void {
		this.#startingMs.delete(incarnation);
		this.#meters.record("snakepit.worker.start.duration", duration, {
			"snakepit.pool.name": pool,
			...(error !== undefined && { "error.type": error }),
		});
	}

	#startFailed(event: EventOf<"worker.start_failed">): void {
		const { incarnation, wallMs, error } = event;
		const begunMs = this.#startingMs.get(incarnation) ?? wallMs;
		const took = seconds(Math.max(0, wallMs - begunMs));
		this.#started(event, took, codeOf(error));
	}

	#exited(event: EventOf<"worker.exited">): void {
		const { incarnation, reason, wallMs } = event;
		const [oldest] = this.#ends.keys();
		if (this.#ends.size >= ENDS && oldest !== undefined)
			this.#ends.delete(oldest);
		this.#ends.set(incarnation, reason);
		const exits = "snakepit.worker.exits";
		this.#meters.count(exits, 1, this.#attributesOf(exits, event));
		const leavingMs = this.#leavingMs.get(incarnation);
		this.#leavingMs.delete(incarnation);
		if (leavingMs === undefined) return;
		const stop = "snakepit.worker.stop.duration";
		const took = seconds(Math.max(0, wallMs - leavingMs));
		this.#meters.record(stop, took, this.#attributesOf(stop, event));
	}
}
