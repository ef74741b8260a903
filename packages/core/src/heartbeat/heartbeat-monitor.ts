import type { Clock, Timer } from "../contract/clock.ts";
import type { PingReply, RemoteUsage } from "../contract/connection.ts";
import type { SnakepitEvent, WorkerRef } from "../contract/events.ts";
import type { ProcessIdentity } from "../contract/identity.ts";
import type { World } from "../contract/world.ts";
import type { ResolvedHeartbeat } from "../options/pool-options.ts";
import {
	type Activity,
	ActivityWatch,
	type HangCause,
	judgeHeartbeat,
} from "./hang-verdict.ts";

type HealthStatus = "healthy" | "suspect" | "busy" | "suspended" | "hung";

/** Counts since the worker became ready; times in milliseconds. */
export interface HeartbeatStatistics {
	readonly status: HealthStatus;
	readonly sent: number;
	readonly answered: number;
	readonly missed: number;
	readonly missedInARow: number;
	readonly lastLatencyMs: number | undefined;
	/** Since its last answer, or since it became ready. */
	readonly silentMs: number;
}

type Ping = (signal: AbortSignal) => Promise<PingReply>;
type Answer = PingReply | "missed";

/** From when a silence counts against the worker, and what it did meanwhile. */
interface Silence {
	readonly sinceMs: number;
	/** When it was last seen to work. */
	activeAtMs: number | undefined;
	cpuAdvancedMs: number;
	/** Whether `heartbeat.busy` was emitted for it. */
	busy: "unreported" | "reported";
}

/** One ping that is on its way. */
interface Question {
	readonly sequence: number;
	readonly sentAt: number;
	readonly abort: AbortController;
	/** Called with the latency in milliseconds; `undefined` when no answer came or the monitor was stopped. */
	readonly over: (latencyMs: number | undefined) => void;
	deadline: Timer | undefined;
}

interface HeartbeatSubject {
	readonly ref: WorkerRef;
	readonly identity: ProcessIdentity;
	/** Absent: only facts of the process are used, and a process that exists is healthy. */
	readonly ping: Ping | undefined;
	/** What it uses, where it runs on another machine. */
	readonly usage?: (() => RemoteUsage | undefined) | undefined;
	readonly options: ResolvedHeartbeat;
	readonly world: World;
	/** Say when it is asked. */
	readonly rounds: HeartbeatRounds;
	/** Called once, when the verdict is that the worker hangs. */
	readonly onHung: (silentMs: number, cause: HangCause) => void;
}

/**
 * Asks one worker at an interval whether it is there, and judges its silence.
 *
 * Sends, counts and reports; the judgement itself is in verdict.ts.
 */
export class HeartbeatMonitor {
	readonly #subject: HeartbeatSubject;
	/** Ends the beats; `undefined` once stopped. */
	#leave: (() => void) | undefined;
	readonly #outstanding = new Set<Question>();
	#status: HealthStatus = "healthy";
	#sequence = 0;
	/** The latest ping that was answered: older ones that are missed later prove nothing. */
	#answeredUpTo = 0;
	#answered = 0;
	#missed = 0;
	#missedInARow = 0;
	#lastLatencyMs: number | undefined;
	#lastAnswerMs: number;
	readonly #activity: ActivityWatch;
	#silence: Silence;
	#previous: { readonly nowMs: number; readonly wallMs: number };
	/** How late our own timers were since the previous judgement: the delay of the host's event loop. */
	#latenessMs = 0;

	constructor(subject: HeartbeatSubject) {
		this.#subject = subject;
		const { clock } = subject.world;
		const nowMs = clock.now();
		this.#lastAnswerMs = nowMs;
		this.#previous = { nowMs, wallMs: clock.wall() };
		this.#activity = new ActivityWatch(
			subject.identity.pid,
			subject.world.host,
			subject.usage,
		);
		this.#silence = silenceFrom(nowMs, "unreported");
		const { ping, rounds, options } = subject;
		if (ping === undefined) return;
		this.#leave = rounds.join(options.intervalMs, (lateMs) => {
			this.#noteLateness(lateMs);
			this.#ask(ping, this.#judge);
		});
	}

	statistics(): HeartbeatStatistics {
		return {
			status: this.#status,
			sent: this.#sequence,
			answered: this.#answered,
			missed: this.#missed,
			missedInARow: this.#missedInARow,
			lastLatencyMs: this.#lastLatencyMs,
			silentMs: this.#subject.world.clock.now() - this.#lastAnswerMs,
		};
	}

	/** Asks now, whatever the interval says. Resolves to the latency in milliseconds, or `undefined` when no answer came or it was stopped. */
	async forcePing(): Promise<number | undefined> {
		const { ping } = this.#subject;
		if (ping === undefined || this.#leave === undefined) return undefined;
		return await new Promise((resolve) => this.#ask(ping, resolve));
	}

	/** Sends and reports nothing more. Outstanding pings are aborted. */
	stop(): void {
		this.#leave?.();
		this.#leave = undefined;
		for (const question of this.#outstanding) this.#end(question, "missed");
	}

	#noteLateness(ms: number): void {
		this.#latenessMs = Math.max(this.#latenessMs, ms);
	}

	/** Sends one ping, and calls `over` at its end: an answer, its deadline, or the stop of the monitor. */
	#ask(ping: Ping, over: Question["over"]): void {
		const { world, options } = this.#subject;
		const question: Question = {
			sequence: ++this.#sequence,
			sentAt: world.clock.now(),
			abort: new AbortController(),
			over,
			deadline: undefined,
		};
		this.#outstanding.add(question);
		this.#emit({ type: "heartbeat.sent", sequence: question.sequence });
		// A listener of the event may have stopped the monitor.
		if (!this.#outstanding.has(question)) return;
		question.deadline = world.clock.after(options.pingTimeoutMs, () => {
			const dueMs = question.sentAt + options.pingTimeoutMs;
			this.#noteLateness(world.clock.now() - dueMs);
			this.#end(question, "missed");
		});
		answerOf(ping, question.abort.signal).then(
			(reply) => this.#end(question, reply),
			() => this.#end(question, "missed"),
		);
	}

	/** Ends a ping, once. */
	#end(question: Question, answer: Answer): void {
		if (!this.#outstanding.delete(question)) return;
		question.deadline?.cancel();
		if (answer === "missed") question.abort.abort();
		const isStopped = this.#leave === undefined;
		question.over(isStopped ? undefined : this.#note(question, answer));
	}

	/** Counts and reports the outcome of a ping. Returns the latency in milliseconds. */
	#note({ sequence, sentAt }: Question, answer: Answer): number | undefined {
		if (answer === "missed") {
			this.#missed++;
			if (sequence > this.#answeredUpTo) this.#missedInARow++;
			this.#emit({
				type: "heartbeat.missed",
				sequence,
				missedInARow: this.#missedInARow,
				timeoutMs: this.#subject.options.pingTimeoutMs,
			});
			return undefined;
		}
		const nowMs = this.#subject.world.clock.now();
		const latencyMs = nowMs - sentAt;
		this.#answered++;
		this.#answeredUpTo = Math.max(this.#answeredUpTo, sequence);
		this.#lastLatencyMs = latencyMs;
		this.#lastAnswerMs = nowMs;
		this.#countFrom(nowMs, "unreported");
		this.#emit({ type: "heartbeat.answered", sequence, latencyMs });
		return latencyMs;
	}

	#countFrom(sinceMs: number, busy: Silence["busy"]): void {
		this.#missedInARow = 0;
		this.#silence = silenceFrom(sinceMs, busy);
		this.#activity.reset();
	}

	/** Whether it works; of no account for a worker that answered, which nearly all do. */
	#look(nowMs: number): Activity {
		if (this.#missedInARow === 0) return "unknown";
		const { cpuMs, activity } = this.#activity.look(nowMs);
		this.#silence.cpuAdvancedMs += cpuMs;
		if (activity === "active") this.#silence.activeAtMs = nowMs;
		return activity;
	}

	readonly #judge = (): void => {
		// A stopped monitor judges no more.
		if (this.#leave === undefined) return;
		const { clock, host } = this.#subject.world;
		const nowMs = clock.now();
		const wallMs = clock.wall();
		const activity = this.#look(nowMs);
		const verdict = judgeHeartbeat(
			{
				nowMs,
				lastAnswerMs: this.#silence.sinceMs,
				missedInARow: this.#missedInARow,
				hostDelayMs: this.#latenessMs,
				clockSkewMs:
					wallMs - this.#previous.wallMs - (nowMs - this.#previous.nowMs),
				debuggerAttached: this.#missedInARow > 0 && host.debuggerAttached(),
				activity,
				activeAtMs: this.#silence.activeAtMs,
			},
			this.#subject.options,
		);
		this.#previous = { nowMs, wallMs };
		this.#latenessMs = 0;
		this.#status = verdict.kind;
		const silentMs = nowMs - this.#lastAnswerMs;
		switch (verdict.kind) {
			case "healthy":
			case "suspect":
				return;
			case "suspended":
				// What was missed may be our own fault: the count starts again.
				this.#countFrom(nowMs, this.#silence.busy);
				this.#emit({ type: "heartbeat.suspended", reason: verdict.reason });
				return;
			case "busy":
				if (this.#silence.busy === "reported") return;
				this.#silence.busy = "reported";
				this.#emit({
					type: "heartbeat.busy",
					silentMs,
					cpuAdvancedMs: this.#silence.cpuAdvancedMs,
				});
				return;
			case "hung":
				this.stop();
				this.#emit({
					type: "heartbeat.hung",
					cause: verdict.cause,
					silentMs,
					missedInARow: this.#missedInARow,
				});
				this.#subject.onHung(silentMs, verdict.cause);
		}
	};

	#emit(
		event: DistributiveOmit<HeartbeatEvent, "wallMs" | keyof WorkerRef>,
	): void {
		const { ref, world } = this.#subject;
		world.emit({
			...event,
			...ref,
			wallMs: world.clock.wall(),
		} as HeartbeatEvent);
	}
}

function silenceFrom(sinceMs: number, busy: Silence["busy"]): Silence {
	return { sinceMs, activeAtMs: undefined, cpuAdvancedMs: 0, busy };
}

/** Also an adapter that throws in the same turn makes it reject. */
async function answerOf(ping: Ping, signal: AbortSignal): Promise<PingReply> {
	return await ping(signal);
}

type HeartbeatEvent = Extract<
	SnakepitEvent,
	{ readonly type: `heartbeat.${string}` }
>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown
	? Omit<T, K>
	: never;

/**
 * How many workers are asked in one turn of the event loop. A ping alone costs the
 * host several times what one among others does, since it wakes up for each; yet
 * not all workers of a large pool shall wake up in one instant (docs/decisions/0014).
 */
export const MOST_IN_A_ROUND = 32;

/** The share of an interval by which each further round begins earlier: rounds of workers that became ready together are spread over the interval. */
const APART: number = (Math.sqrt(5) - 1) / 2;

/** Pings one worker. Called with how late the round came, in milliseconds: the delay of the host's event loop. */
type Beat = (lateMs: number) => void;

interface Round {
	readonly intervalMs: number;
	readonly beats: Set<Beat>;
	timer: Timer | undefined;
}

/**
 * When the workers of a pool are asked whether they are there: each once an
 * interval, in rounds of several.
 */
export class HeartbeatRounds {
	readonly #clock: Clock;
	readonly #rounds = new Set<Round>();
	#begun = 0;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** Calls `beat` once an interval, for the first time within one. Returns the function that ends this; calling it again does nothing. */
	join(intervalMs: number, beat: Beat): () => void {
		const round = this.#withRoom(intervalMs) ?? this.#begin(intervalMs);
		round.beats.add(beat);
		return () => {
			round.beats.delete(beat);
			if (round.beats.size > 0) return;
			round.timer?.cancel();
			this.#rounds.delete(round);
		};
	}

	#withRoom(intervalMs: number): Round | undefined {
		for (const round of this.#rounds)
			if (round.intervalMs === intervalMs && round.beats.size < MOST_IN_A_ROUND)
				return round;
		return undefined;
	}

	#begin(intervalMs: number): Round {
		const round = { intervalMs, beats: new Set<Beat>(), timer: undefined };
		this.#rounds.add(round);
		const early = (this.#begun++ * APART) % 1;
		this.#schedule(round, intervalMs * (1 - early));
		return round;
	}

	#schedule(round: Round, ms: number): void {
		const dueMs = this.#clock.now() + ms;
		round.timer = this.#clock.after(ms, () => {
			const lateMs = this.#clock.now() - dueMs;
			this.#schedule(round, round.intervalMs);
			for (const beat of round.beats) beat(lateMs);
		});
	}
}
