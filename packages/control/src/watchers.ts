import type {
	CallMeter,
	ControlClock,
	ControlledEvent,
	ControlledRun,
} from "./controlled-run.ts";
import { CALLS_A_TICK, TICK_MS } from "./limits.ts";
import { type RecordStream, recordOf } from "./record-stream.ts";
import { shown } from "./shown.ts";
import type { RunSnapshot, WorkerSnapshot } from "./snapshot.ts";
import { type CommandThroughput, Throughput } from "./throughput.ts";
import { UsageReader } from "./usage-reader.ts";
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
	#shownCalls = 0;
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
			(event) => this.#happened(event),
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
			this.#shownCalls = 0;
			this.#callsLeftOut = 0;
		}
		return recordOf("state", tick);
	}

	readonly #callEnded: CallMeter = (pool, command, outcome, totalMs) => {
		this.#throughput.add(pool, command, outcome, totalMs);
		const isFailed = outcome !== "succeeded";
		this.#isShown = isFailed || this.#shownCalls < CALLS_A_TICK;
		if (!this.#isShown) this.#callsLeftOut++;
		else if (!isFailed) this.#shownCalls++;
		return this.#isShown;
	};

	#happened(event: ControlledEvent): void {
		// Another listener may need the events of all calls.
		if (event.type === "call.settled" && !this.#isShown) return;
		const data = shown(event);
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
			facts: shown(worker.facts) as WorkerSnapshot["facts"],
			usage: usage.get(worker.incarnation) ?? null,
		})),
	}));
	return { ...run, pools };
}
