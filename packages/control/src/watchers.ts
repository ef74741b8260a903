import type {
	CallMeter,
	ControlClock,
	ControlledEvent,
	ControlledRun,
	RunSnapshot,
	UsageSnapshot,
	WorkerSnapshot,
} from "./controlled-run.ts";
import { displayValue } from "./display-value.ts";
import { CALLS_A_TICK, TICK_MS, USAGE_MS, USAGE_SHARE } from "./limits.ts";
import { type RecordStream, recordOf } from "./record-stream.ts";
import { type CommandThroughput, Throughput } from "./throughput.ts";
import { type Verdict, verdict, whyWaiting } from "./verdict.ts";

/** What `GET /v1/state` answers. */
export interface ServedState {
	readonly verdict: Verdict;
	readonly run: RunSnapshot;
}

/** The record that streams of events get twice a second. */
export interface ServedTick extends ServedState {
	/** Since the tick before, in milliseconds. */
	readonly tickMs: number;
	/** The calls that ended in that time. */
	readonly throughput: readonly CommandThroughput[];
	/** How many calls that succeeded were not sent as events. */
	readonly callsLeftOut: number;
}

/** Follows a run for the streams of events, but only while there is a stream. */
export class Watchers {
	readonly #run: ControlledRun;
	readonly #clock: ControlClock;
	readonly #usage: UsageReader;
	readonly #streams = new Set<RecordStream>();
	readonly #throughput = new Throughput();
	#following: Following | undefined;
	/** Whether the call that has just ended is shown. */
	#isShown = true;
	#reportedCalls = 0;
	#callsLeftOut = 0;

	constructor(run: ControlledRun, clock: ControlClock) {
		this.#run = run;
		this.#clock = clock;
		this.#usage = new UsageReader(run, clock);
	}

	state(): ServedState {
		const run = complete(this.#run.look(), this.#usage);
		return { verdict: verdict(run), run };
	}

	/** Returns the function that removes it. */
	add(stream: RecordStream): () => void {
		this.#streams.add(stream);
		this.#following ??= this.#follow();
		stream.pushLatest(this.#tickRecord(0));
		return () => {
			this.#streams.delete(stream);
			if (this.#streams.size > 0) return;
			this.#following?.end();
			this.#following = undefined;
			this.#throughput.take();
		};
	}

	#follow(): Following {
		const unsubscribe = this.#run.subscribe(
			"events",
			(event) => this.#record(event),
			this.#callEnded,
		);
		const following: Following = {
			sinceMs: this.#clock.now(),
			timer: this.#nextTick(),
			end: () => {
				unsubscribe();
				following.timer.cancel();
			},
		};
		return following;
	}

	#nextTick(): { cancel(): void } {
		return this.#clock.after(TICK_MS, () => {
			if (this.#following === undefined) return;
			const nowMs = this.#clock.now();
			const record = this.#tickRecord(nowMs - this.#following.sinceMs);
			for (const stream of this.#streams) stream.pushLatest(record);
			this.#following.sinceMs = nowMs;
			this.#following.timer = this.#nextTick();
		});
	}

	/** @param tickMs 0 for the first of a stream: it does not end the tick of the others. */
	#tickRecord(tickMs: number): string {
		const isFirst = tickMs === 0;
		const tick: ServedTick = {
			...this.state(),
			tickMs,
			throughput: isFirst ? [] : this.#throughput.take(),
			callsLeftOut: isFirst ? 0 : this.#callsLeftOut,
		};
		if (!isFirst) {
			this.#reportedCalls = 0;
			this.#callsLeftOut = 0;
		}
		return recordOf("state", tick);
	}

	readonly #callEnded: CallMeter = (pool, command, outcome, totalMs) => {
		this.#throughput.add(pool, command, outcome, totalMs);
		const isFailed = outcome !== "succeeded";
		this.#isShown = isFailed || this.#reportedCalls < CALLS_A_TICK;
		if (!this.#isShown) this.#callsLeftOut++;
		else if (!isFailed) this.#reportedCalls++;
		return this.#isShown;
	};

	#record(event: ControlledEvent): void {
		// Another listener may need the events of all calls.
		if (event.type === "call.settled" && !this.#isShown) return;
		const data = displayValue(event);
		for (const stream of this.#streams) stream.push("event", data);
	}
}

interface Following {
	/** The last tick. */
	sinceMs: number;
	timer: { cancel(): void };
	readonly end: () => void;
}

/** Adds the fields that only the server knows: the resource use of workers, and why calls wait. */
function complete(run: RunSnapshot, reader: UsageReader): RunSnapshot {
	const usage = reader.latest();
	const pools = run.pools.map((pool) => ({
		...pool,
		queue: { ...pool.queue, why: whyWaiting(pool) ?? null },
		workers: pool.workers.map((worker) => ({
			...worker,
			facts: displayValue(worker.facts) as WorkerSnapshot["facts"],
			usage: usage.get(worker.incarnation) ?? null,
		})),
	}));
	return { ...run, pools };
}

/** Reads the resource use of workers, rarely enough that the cost cannot be measured. */
export class UsageReader {
	readonly #run: Pick<ControlledRun, "usage">;
	readonly #clock: ControlClock;
	#readMs = Number.NEGATIVE_INFINITY;
	#pauseMs: number = USAGE_MS;
	#usage: ReadonlyMap<string, UsageSnapshot> = new Map();

	constructor(run: Pick<ControlledRun, "usage">, clock: ControlClock) {
		this.#run = run;
		this.#clock = clock;
	}

	/** The last reading, by incarnation. */
	latest(): ReadonlyMap<string, UsageSnapshot> {
		const nowMs = this.#clock.now();
		const sinceMs = nowMs - this.#readMs;
		if (sinceMs < this.#pauseMs) return this.#usage;
		this.#readMs = nowMs;
		this.#usage = this.#read(sinceMs);
		const tookMs = this.#clock.now() - nowMs;
		this.#pauseMs = Math.max(USAGE_MS, tookMs * USAGE_SHARE);
		return this.#usage;
	}

	/** Returns nothing if the process table cannot be read: inspecting a program must not end it. */
	#read(sinceMs: number): ReadonlyMap<string, UsageSnapshot> {
		try {
			return new Map(
				[...this.#run.usage()].map(([incarnation, usage]) => {
					const last = this.#usage.get(incarnation);
					const processors =
						last === undefined
							? null
							: Math.max(0, usage.cpuTimeMs - last.cpuTimeMs) / sinceMs;
					return [incarnation, { ...usage, processors }];
				}),
			);
		} catch {
			return new Map();
		}
	}
}
