import type { CallProgress } from "../../contract/connection.ts";
import {
	type BackCall,
	type CallOptions,
	type Cancellation,
	type MeasuredRun,
	RECALLED,
	type SendingInTrace,
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
import { outbox } from "../../outbox.ts";
import type { Attempt, AttemptView } from "../../worker/running-calls.ts";
import type { Worker } from "../../worker/worker.ts";
import type { Attempted, Call } from "./call.ts";
import type { CallTrigger } from "./call-states.ts";

/** What an attempt reports to. */
export interface AttemptListener {
	/** On the monotonic clock. */
	now(): number;
	/** Something has happened to a call on its worker. Only within a transition of the outbox. */
	advance(call: Call, trigger: CallTrigger<Worker>): void;
	/** What those who look at the run may see of the arguments of a call. */
	shownArgs(call: Call): unknown;
}

const BEGAN = { kind: "began" } as const;
const RECALL_CONFIRMED = { kind: "recall_confirmed" } as const;
const BROKE = { kind: "broke" } as const;

/** One call on one worker, until the worker is done with it or gone. Its state is that of its call. */
export class CallAttempt
	implements Attempt, Attempted, Cancellation, MeasuredRun, SendingInTrace
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
	/** When it reported its progress last; only if its caller wants reports. */
	#reportedMs: number | undefined;
	instrument: AttemptInstrument | undefined;
	readonly #listener: AttemptListener;
	readonly #abort = new AbortController();
	/** Its call is over for its caller, and it shall end. */
	isRequested = false;
	onRequested: ((reason: unknown) => void) | undefined;

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
		const { kind } = call.state;
		return {
			callId: call.callId,
			command: call.command,
			shape: call.work.shape,
			args: this.#listener.shownArgs(call),
			sessionId: call.session?.id,
			startedMs,
			reportedMs: this.#reportedMs,
			caller: kind === "settled" || kind === "cancelling" ? "over" : "waits",
			attempt: this.number,
			waitedMs: this.waitedMs,
			failed: call.retried ?? [],
		};
	}

	/** What its worker still does counts no more. */
	get isOver(): boolean {
		const { state } = this.call;
		return state.attempt !== this || state.kind === "failing";
	}

	get expectsAnswer(): boolean {
		return this.call.state.kind === "running" && !this.isOver;
	}

	/** Sends it later than that was decided: it may have been recalled or lost, and its worker is ended perhaps. */
	sendLater(): void {
		if (this.isOver) return;
		if (this.worker.isLeft) this.#failed(noConnection());
		else void this.send();
	}

	/** Sends the call to the worker, unless it was given up meanwhile, and reports what comes of it. Never rejects. */
	async send(): Promise<void> {
		const { call, instrument } = this;
		const { connection } = this.worker;
		const { state } = call;
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
			sending: call.instrument && this,
			backCall: call.instrument && ((asked, run) => this.#backCall(asked, run)),
			measured: this,
			beganAgo: call.instrument && ((ms) => this.#beganAgo(ms)),
			onProgress:
				call.progress &&
				((progress) =>
					call.context.runInAsyncScope(() => this.#progressed(progress))),
		};
		const { work, command, args, context } = call;
		// An adapter may answer with no promise.
		let answering: unknown;
		try {
			answering =
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
			answering = Promise.reject(error);
		}
		let answer: unknown;
		try {
			answer = await answering;
		} catch (error) {
			this.#failed(translate(error, this));
			return;
		}
		this.#report(
			answer === RECALLED ? RECALL_CONFIRMED : { kind: "answered", answer },
		);
	}

	/** The worker is gone. */
	lost(error: SnakepitError): void {
		this.#report({ kind: "failed", error });
	}

	/** Its caller is gone: tells the worker. */
	cancel(reason: SnakepitError): void {
		this.isRequested = true;
		this.instrument?.cancelled(reason);
		this.#abort.abort(reason);
		this.onRequested?.(reason);
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

	/** For adapters that send each call as a request of its own. */
	inTrace<T>(send: () => T): T {
		return this.instrument?.sending === undefined
			? send()
			: this.instrument.sending(send);
	}

	/** Of a call that asks for something, it is known to have begun. */
	#backCall<T>(asked: BackCall, run: () => Promise<T>): Promise<T> {
		this.#report(BEGAN);
		return this.instrument?.backCall(asked, run) ?? run();
	}

	/** A call that reports is known to have begun. What an attempt reports when its call is settled, or it is over, is dropped. */
	#progressed(progress: CallProgress): Promise<void> {
		this.#report(BEGAN);
		this.#reportedMs = this.#listener.now();
		return this.expectsAnswer && this.call.progress !== undefined
			? this.call.progress.report(progress)
			: new Promise(() => {});
	}

	#failed(error: SnakepitError): void {
		outbox.during(() => {
			this.#report(BEGAN);
			// A broken conversation is the worker's end, and the error of that has its exit and its last output.
			if (error instanceof ConnectionBrokenError && error.ran === "maybe") {
				this.#report(BROKE);
				this.worker.conversationOver(error.message);
				return;
			}
			if (error instanceof CallAbortedError && error.worker === "unknown")
				this.worker.retire("unconfirmed");
			// A worker that takes no calls must not be offered this one again.
			if (error.code === "WORKER_REPLACED") this.worker.retire("leaving");
			this.#report({ kind: "failed", error });
		});
	}

	#report(trigger: CallTrigger<Worker>): void {
		const { call } = this;
		const { state } = call;
		if (state.attempt !== this || state.kind === "failing") return;
		outbox.enter();
		try {
			this.#listener.advance(call, trigger);
		} finally {
			outbox.leave();
		}
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
