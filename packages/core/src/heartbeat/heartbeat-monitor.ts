import type { PingReply } from "../adapter.ts";
import type { SnakepitEvent, WorkerRef } from "../events.ts";
import type { ProcessIdentity } from "../identity.ts";
import type { HeartbeatOptions } from "../options.ts";
import type { Timer, World } from "../world.ts";
import { judgeHeartbeat } from "./verdict.ts";

export type HealthStatus =
	| "healthy"
	| "suspect"
	| "busy"
	| "suspended"
	| "hung";

/** Counts since the worker became ready; times in milliseconds. */
export interface HeartbeatStatistics {
	readonly status: HealthStatus;
	readonly sent: number;
	readonly answered: number;
	readonly missed: number;
	readonly missedInARow: number;
	readonly lastLatencyMs: number | undefined;
	readonly silentMs: number;
}

export interface HeartbeatSubject {
	readonly ref: WorkerRef;
	readonly identity: ProcessIdentity;
	/** Absent: only facts of the process are used, and a process that exists is healthy. */
	readonly ping: ((signal: AbortSignal) => Promise<PingReply>) | undefined;
	readonly options: Required<HeartbeatOptions>;
	readonly world: World;
	/** Called once, when the verdict is that the worker hangs. */
	readonly onHung: (silentMs: number) => void;
}

/**
 * Asks one worker at an interval whether it is there, and judges its silence.
 *
 * Sends, counts and tells; the judgement itself is in verdict.ts.
 */
export class HeartbeatMonitor {
	readonly #subject: HeartbeatSubject;
	#timer: Timer | undefined;
	#status: HealthStatus = "healthy";
	#sequence = 0;
	#answered = 0;
	#missed = 0;
	#missedInARow = 0;
	#lastLatencyMs: number | undefined;
	#lastAnswerMs: number;
	#cpuAtAnswerMs: number | undefined;
	#grace: "unused" | "used" = "unused";
	#previous: { readonly nowMs: number; readonly wallMs: number };
	/** How late our own timers were since the previous judgement: the delay of the host's event loop. */
	#latenessMs = 0;

	constructor(subject: HeartbeatSubject) {
		this.#subject = subject;
		const { clock } = subject.world;
		this.#lastAnswerMs = clock.now();
		this.#previous = { nowMs: clock.now(), wallMs: clock.wall() };
		this.#cpuAtAnswerMs = this.#cpuTimeMs();
		if (subject.ping !== undefined) this.#schedule();
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

	/** Asks now, whatever the interval says. Resolves to the latency in milliseconds, or `undefined` when no answer came. */
	async forcePing(): Promise<number | undefined> {
		return this.#subject.ping === undefined
			? undefined
			: await this.#ask(this.#subject.ping);
	}

	stop(): void {
		this.#timer?.cancel();
		this.#timer = undefined;
	}

	#schedule(): void {
		this.#timer = this.#after(this.#subject.options.intervalMs, () => {
			this.#schedule();
			void this.#beat();
		});
	}

	/** A timer that notes how late it came. */
	#after(ms: number, action: () => void): Timer {
		const { clock } = this.#subject.world;
		const due = clock.now() + ms;
		return clock.after(ms, () => {
			this.#latenessMs = Math.max(this.#latenessMs, clock.now() - due);
			action();
		});
	}

	async #beat(): Promise<void> {
		const { ping } = this.#subject;
		if (ping === undefined) return;
		await this.#ask(ping);
		if (this.#timer !== undefined) this.#judge(); // A stopped monitor judges no more.
	}

	async #ask(
		ping: (signal: AbortSignal) => Promise<PingReply>,
	): Promise<number | undefined> {
		const { clock } = this.#subject.world;
		const sequence = ++this.#sequence;
		const sentAt = clock.now();
		this.#emit({ type: "heartbeat.sent", sequence });
		const deadline = new AbortController();
		const answered = await new Promise<boolean>((resolve) => {
			const timer = this.#after(this.#subject.options.pingTimeoutMs, () => {
				deadline.abort();
				resolve(false);
			});
			ping(deadline.signal).then(
				() => {
					timer.cancel();
					resolve(true);
				},
				() => {
					timer.cancel();
					resolve(false);
				},
			);
		});
		if (!answered) {
			this.#missed++;
			this.#missedInARow++;
			this.#emit({
				type: "heartbeat.missed",
				sequence,
				missedInARow: this.#missedInARow,
			});
			return undefined;
		}
		const latencyMs = clock.now() - sentAt;
		this.#answered++;
		this.#missedInARow = 0;
		this.#lastLatencyMs = latencyMs;
		this.#lastAnswerMs = clock.now();
		this.#cpuAtAnswerMs = this.#cpuTimeMs();
		this.#grace = "unused";
		this.#emit({ type: "heartbeat.answered", sequence, latencyMs });
		return latencyMs;
	}

	#judge(): void {
		const { clock, host } = this.#subject.world;
		const nowMs = clock.now();
		const wallMs = clock.wall();
		const cpuNow = this.#missedInARow === 0 ? undefined : this.#cpuTimeMs();
		const verdict = judgeHeartbeat(
			{
				nowMs,
				lastAnswerMs: this.#lastAnswerMs,
				missedInARow: this.#missedInARow,
				hostDelayMs: this.#latenessMs,
				clockSkewMs:
					wallMs - this.#previous.wallMs - (nowMs - this.#previous.nowMs),
				debuggerAttached: host.debuggerAttached(),
				cpuAdvancedMs:
					cpuNow === undefined || this.#cpuAtAnswerMs === undefined
						? undefined
						: cpuNow - this.#cpuAtAnswerMs,
				grace: this.#grace,
			},
			this.#subject.options,
		);
		this.#previous = { nowMs, wallMs };
		this.#latenessMs = 0;
		this.#status = verdict.kind;
		switch (verdict.kind) {
			case "healthy":
			case "suspect":
				return;
			case "suspended":
				// What was missed may be our own fault: the count starts again.
				this.#missedInARow = 0;
				this.#lastAnswerMs = nowMs;
				this.#emit({ type: "heartbeat.suspended", reason: verdict.reason });
				return;
			case "busy":
				// One more whole span, measured from now.
				this.#grace = "used";
				this.#missedInARow = 0;
				this.#lastAnswerMs = nowMs;
				this.#emit({
					type: "heartbeat.busy",
					silentMs: verdict.silentMs,
					cpuAdvancedMs: verdict.cpuAdvancedMs,
				});
				return;
			case "hung":
				this.stop();
				this.#emit({
					type: "heartbeat.hung",
					silentMs: verdict.silentMs,
					missedInARow: this.#missedInARow,
				});
				this.#subject.onHung(verdict.silentMs);
		}
	}

	#cpuTimeMs(): number | undefined {
		return this.#subject.world.host.facts(this.#subject.identity.pid)
			?.cpuTimeMs;
	}

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

type HeartbeatEvent = Extract<
	SnakepitEvent,
	{ readonly type: `heartbeat.${string}` }
>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown
	? Omit<T, K>
	: never;
