import type { Clock, Timer } from "../../contract/clock.ts";
import type { CallProgress } from "../../contract/connection.ts";
import {
	type BackCall,
	type CallOptions,
	type Cancellation,
	type MeasuredRun,
	RECALLED,
} from "../../contract/connection.ts";
import {
	CallAbortedError,
	ConnectionBrokenError,
	SnakepitError,
	ToolError,
} from "../../contract/errors.ts";
import type {
	AttemptInstrument,
	CommandRun,
} from "../../contract/instrument.ts";
import { asError } from "../../contract/thrown.ts";
import { afterRunning } from "../../deadline.ts";
import { outbox } from "../../outbox.ts";
import type {
	Attempt,
	AttemptView,
	Conduct,
} from "../../worker/running-calls.ts";
import type { Worker } from "../../worker/worker.ts";
import type { Attempted, Call } from "./call.ts";
import { named } from "./call-errors.ts";

/** What an attempt reports to. */
export interface AttemptListener {
	/** On the monotonic clock. */
	now(): number;
	/** The worker's slot is free, or the worker is gone. Called once. */
	attemptOver(
		attempt: CallAttempt,
		error: SnakepitError | undefined,
		answer: unknown,
	): void;
	/** It was prefetched, and is answered, refused or broken off before it was known to begin. */
	attemptBeganEarly(attempt: CallAttempt): void;
	/** The worker did not begin the call, and will not: it may run elsewhere. */
	attemptReturned(attempt: CallAttempt): void;
	/** Its worker has a grace to end it, and takes no calls meanwhile. */
	attemptCancelled(attempt: CallAttempt): void;
}

type AttemptState =
	/** Sent while the worker runs another call. */
	| { readonly kind: "prefetched" }
	| { readonly kind: "running" }
	/** The adapter gave it up: the end of its worker will say why. */
	| { readonly kind: "unanswerable" }
	/** Its call is settled; the worker has until the timer to finish. */
	| {
			readonly kind: "cancelling";
			readonly grace: Timer;
			readonly reason: SnakepitError;
	  }
	| { readonly kind: "over" };

/** One call on one worker, until the worker is done with it or gone. */
export class CallAttempt
	implements Attempt, Attempted, Cancellation, MeasuredRun
{
	readonly call: Call;
	readonly worker: Worker;
	readonly command: string;
	/** 1 for the first; 0 before it begins. */
	number = 0;
	/** When it was sent, and from its begin on when it began. */
	startedMs: number;
	/** How long its call waited for a worker before it began. */
	waitedMs = 0;
	/** How long the command ran, as measured in the worker. */
	ranMs: number | undefined;
	/** Whether it was sent, and on which terms. */
	sent: "no" | "to run" | "prefetched" = "no";
	#beganMs: number | undefined;
	instrument: AttemptInstrument | undefined;
	readonly #listener: AttemptListener;
	readonly #abort = new AbortController();
	/** Its call is settled, and it shall end. */
	isRequested = false;
	#onCancel: ((reason: unknown) => void) | undefined;
	#state: AttemptState = { kind: "prefetched" };

	constructor(
		call: Call,
		worker: Worker,
		startedMs: number,
		listener: AttemptListener,
	) {
		this.call = call;
		this.worker = worker;
		this.command = call.command;
		this.startedMs = startedMs;
		this.#listener = listener;
	}

	get callId(): string {
		return this.call.callId;
	}

	view(): AttemptView {
		const { call, startedMs } = this;
		return {
			callId: call.callId,
			command: call.command,
			sessionId: call.session?.id,
			startedMs,
			caller: call.state.kind === "settled" ? "over" : "waits",
			attempt: this.number,
			waitedMs: this.waitedMs,
			failed: call.retried ?? [],
		};
	}

	get isAhead(): boolean {
		return this.#state.kind === "prefetched";
	}

	get isOver(): boolean {
		return this.#state.kind === "over";
	}

	whenRequested(action: (reason: unknown) => void): void {
		this.#onCancel = action;
	}

	get expectsAnswer(): boolean {
		return this.#state.kind === "running";
	}

	/** The worker runs it now. */
	begin(nowMs: number): void {
		this.number = this.call.attempts;
		this.startedMs = nowMs;
		this.#state = { kind: "running" };
	}

	/** It goes back to the queue: whatever comes of it counts no more. */
	end(): void {
		this.#state = { kind: "over" };
	}

	/** Sends it later than that was decided: it may have been taken back or lost, and its worker is ended perhaps. */
	sendLater(): void {
		if (this.#state.kind === "over") return;
		if (this.worker.isLeft) this.#failed(noConnection());
		else this.send();
	}

	/** Sends the call to the worker, unless it was given up meanwhile. */
	send(): void {
		const { call, instrument } = this;
		const { connection } = this.worker;
		const state = this.#state;
		if (state.kind === "cancelling") {
			this.#failed(state.reason);
			return;
		}
		if (connection === undefined) {
			this.#failed(noConnection());
			return;
		}
		this.sent = state.kind === "prefetched" ? "prefetched" : "to run";
		const options: CallOptions = {
			callId: call.callId,
			signal: this.#abort.signal,
			cancellation: this,
			context: call.context,
			timeoutMs:
				call.deadlineMs === undefined
					? undefined
					: Math.max(1, call.deadlineMs - this.startedMs),
			sessionId: call.session?.id,
			session: call.session?.calls,
			input: call.input?.items,
			traceContext:
				instrument?.traceContext ??
				call.instrument?.prefetched?.() ??
				call.headers,
			backCall: call.instrument && ((asked, run) => this.#backCall(asked, run)),
			measured: this,
			beganAgo: call.instrument && ((ms) => this.#beganAgo(ms)),
			onProgress: call.progress && ((progress) => this.#progressed(progress)),
		};
		const { work, command, args, context } = call;
		let answer: unknown;
		try {
			answer =
				work.shape === "unary"
					? context.runInAsyncScope(
							connection.execute,
							connection,
							command,
							args,
							options,
						)
					: context.runInAsyncScope(
							work.run,
							work,
							connection,
							command,
							args,
							options,
							this,
						);
		} catch (error) {
			answer = Promise.reject(error);
		}
		// An adapter may answer with no promise.
		Promise.resolve(answer).then(this.#answered, this.#threw);
	}

	/** The worker is gone. */
	lost(error: SnakepitError): void {
		this.#over(error, undefined);
	}

	/** The call is settled: the worker gets a grace to finish, then it is replaced. */
	cancel(reason: SnakepitError, cancelGraceMs: number, clock: Clock): void {
		if (this.#state.kind !== "running") return;
		const { call, worker } = this;
		const grace = afterRunning(clock, cancelGraceMs, () =>
			worker.condemn(
				"stuck",
				`${named(call)} did not finish within ${cancelGraceMs} ms after it was cancelled (calls.cancelGraceMs)`,
			),
		);
		this.#state = { kind: "cancelling", grace, reason };
		this.isRequested = true;
		worker.calls.cancelled++;
		this.#listener.attemptCancelled(this);
		this.instrument?.cancelled(reason);
		this.#abort.abort(reason);
		this.#onCancel?.(reason);
	}

	/** When the command ran, as measured in the worker. */
	get ran(): CommandRun | undefined {
		return this.#beganMs === undefined || this.ranMs === undefined
			? undefined
			: {
					beganAgoMs: this.#listener.now() - this.#beganMs,
					ranMs: this.ranMs,
				};
	}

	#beganAgo(ms: number): void {
		if (ms >= 0 && ms < Infinity) this.#beganMs = this.#listener.now() - ms;
	}

	/** Of a call that asks for something, it is known to have begun. */
	#backCall<T>(asked: BackCall, run: () => Promise<T>): Promise<T> {
		if (this.isAhead) this.#listener.attemptBeganEarly(this);
		return this.instrument?.backCall(asked, run) ?? run();
	}

	/** A call that reports is known to have begun. What an attempt reports when its call is settled, or it is over, is dropped. */
	#progressed(progress: CallProgress): Promise<void> {
		if (this.isAhead) this.#listener.attemptBeganEarly(this);
		return this.#state.kind === "running" && this.call.progress !== undefined
			? this.call.progress.report(progress)
			: new Promise(() => {});
	}

	readonly #answered = (answer: unknown): void => {
		if (answer === RECALLED) this.#notBegun();
		else this.#over(undefined, answer);
	};

	readonly #threw = (error: unknown): void =>
		this.#failed(translate(error, this));

	#notBegun(): void {
		if (this.#state.kind === "cancelling") {
			this.#over(undefined, undefined, "unknown");
		} else if (this.#state.kind !== "over") {
			this.#listener.attemptReturned(this);
		}
	}

	#failed(error: SnakepitError): void {
		outbox.enter();
		try {
			this.#ended(error);
		} finally {
			outbox.leave();
		}
	}

	#ended(error: SnakepitError): void {
		if (this.isAhead) this.#listener.attemptBeganEarly(this);
		// A broken conversation is the worker's end, and the error of that has its exit and its last output.
		if (error instanceof ConnectionBrokenError && error.ran === "maybe") {
			if (this.#state.kind === "running")
				this.#state = { kind: "unanswerable" };
			this.worker.conversationOver(error.message);
			return;
		}
		if (error instanceof CallAbortedError && error.worker === "unknown")
			this.worker.retire("unconfirmed");
		// A worker that takes no calls must not be offered this one again.
		if (error.code === "WORKER_REPLACED") this.worker.retire("leaving");
		this.#over(error, undefined);
	}

	#over(
		error: SnakepitError | undefined,
		answer: unknown,
		conduct: Conduct = this.#conduct(error),
	): void {
		if (this.#state.kind === "over") return;
		outbox.enter();
		try {
			if (this.#state.kind === "prefetched")
				this.#listener.attemptBeganEarly(this);
			if (this.#state.kind === "cancelling") {
				this.#state.grace.cancel();
				this.worker.calls.cancelled--;
			}
			this.worker.calls.note(conduct);
			this.#state = { kind: "over" };
			// An adapter may have written anything: what is no duration is as if it had not been measured.
			const { ranMs = 0 } = this;
			if (!(ranMs >= 0 && ranMs < Infinity)) this.ranMs = undefined;
			this.#listener.attemptOver(this, error, answer);
			// A worker that is gone has forgotten it already.
			this.worker.finish(this);
		} finally {
			outbox.leave();
		}
	}

	/** A command that fails says nothing about its worker: it may fail before it needs what is stuck there. */
	#conduct(error: SnakepitError | undefined): Conduct {
		if (error === undefined || this.call.work.begun) return "answered";
		const wasCancelled =
			this.#state.kind === "cancelling" && error.ran !== "no";
		return wasCancelled ? "cancelled" : "unknown";
	}
}

/** An attempt that was not sent. */
function noConnection(): ConnectionBrokenError {
	return new ConnectionBrokenError({
		ran: "no",
		message: "the worker has no connection",
	});
}

/** Translates foreign errors, here and nowhere else. */
function translate(
	error: unknown,
	{ call, worker }: CallAttempt,
): SnakepitError {
	const cause = asError(error);
	if (cause instanceof SnakepitError) return cause;
	return new ToolError({
		ran: "maybe",
		message: `"${call.command}" failed on worker ${worker.ref.workerId}: ${cause.message}`,
		cause: error,
		remote: {
			type: cause.name,
			message: cause.message,
			traceback: cause.stack,
		},
	});
}
