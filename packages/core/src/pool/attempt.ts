import { ConnectionBrokenError, SnakepitError, ToolError } from "../errors.ts";
import type { SnakepitEvent } from "../events.ts";
import type { AttemptInstrument } from "../instrument.ts";
import { afterRunning } from "../patience.ts";
import type { Worker } from "../worker/worker.ts";
import type { Attempt } from "../worker/worker-parts.ts";
import type { Clock, Timer } from "../world.ts";
import type { Call } from "./call.ts";

export interface AttemptSetting {
	readonly clock: Clock;
	readonly cancelGraceMs: number;
	readonly emit: (event: SnakepitEvent) => void;
}

/** Hears of one attempt: `over` first, then at most one of the two others. */
export interface AttemptListener {
	/** The worker's slot is free, or the worker is gone. */
	over(attempt: CallAttempt, ranMs: number): void;
	answered(attempt: CallAttempt): void;
	failed(attempt: CallAttempt, error: SnakepitError): void;
}

type AttemptState =
	| { readonly kind: "running" }
	/** The adapter gave it up: the end of its worker will say why. */
	| { readonly kind: "unanswerable" }
	/** Nobody waits for it any more; the worker has until the timer to come free. */
	| {
			readonly kind: "cancelling";
			readonly grace: Timer;
			readonly reason: SnakepitError;
	  }
	| { readonly kind: "over" };

/** One call on one worker, until the worker is done with it or gone. */
export class CallAttempt implements Attempt {
	readonly call: Call;
	readonly worker: Worker;
	/** 1 for the first. */
	readonly number: number;
	readonly #setting: AttemptSetting;
	readonly #listener: AttemptListener;
	readonly #abort = new AbortController();
	readonly #waitedMs: number;
	readonly #startedMs: number;
	#instrument: AttemptInstrument | undefined;
	#state: AttemptState = { kind: "running" };

	constructor(
		call: Call,
		worker: Worker,
		waitedMs: number,
		startedMs: number,
		setting: AttemptSetting,
		listener: AttemptListener,
	) {
		this.call = call;
		this.worker = worker;
		this.number = call.attempts;
		this.#setting = setting;
		this.#listener = listener;
		this.#waitedMs = waitedMs;
		this.#startedMs = startedMs;
		worker.begin(this);
	}

	get callId(): string {
		return this.call.callId;
	}

	/** Tells of it, and sends the call to the worker. */
	run(): void {
		this.#tell();
		if (this.#state.kind === "running") this.#send();
		// Whoever heard of it gave the call up: it was never sent.
		else if (this.#state.kind === "cancelling") this.#done(this.#state.reason);
	}

	#tell(): void {
		const { call, worker } = this;
		const { clock, emit } = this.#setting;
		this.#instrument = call.instrument?.dispatched({
			...worker.ref,
			attempt: this.number,
			pid: worker.pid,
		});
		emit({
			...worker.ref,
			type: "call.dispatched",
			wallMs: clock.wall(),
			callId: call.callId,
			command: call.command,
			attempt: this.number,
			waitedMs: this.#waitedMs,
		});
	}

	#send(): void {
		const { call, worker } = this;
		const { connection } = worker;
		if (connection === undefined) {
			this.#done(
				new ConnectionBrokenError({
					code: "CONNECTION_BROKEN",
					ran: "no",
					message: "the worker has no connection",
				}),
			);
			return;
		}
		const options = {
			callId: call.callId,
			signal: this.#abort.signal,
			timeoutMs:
				call.deadlineMs === undefined
					? undefined
					: Math.max(1, call.deadlineMs - this.#startedMs),
			sessionId: call.session?.id,
			input: call.input?.items,
			traceContext: this.#instrument?.traceContext ?? call.traceContext,
			backCall: this.#instrument?.backCall,
		};
		call.context
			.runInAsyncScope(() =>
				call.work.run(
					connection,
					call.command,
					call.args,
					options,
					() => this.#state.kind !== "over",
				),
			)
			.then(
				() => this.#done(undefined),
				(error: unknown) => this.#done(translate(error, this)),
			);
	}

	get expectsAnswer(): boolean {
		return this.#state.kind === "running";
	}

	/** The worker is gone. */
	lost(error: SnakepitError): void {
		if (this.#over(error)) this.#listener.failed(this, error);
	}

	/** The caller is gone: the worker gets a grace to come free, then it is replaced. */
	cancel(reason: SnakepitError): void {
		if (this.#state.kind !== "running") return;
		const { cancelGraceMs, clock } = this.#setting;
		const { call, worker } = this;
		const grace = afterRunning(clock, cancelGraceMs, () =>
			worker.condemn(
				"stuck",
				`call ${call.callId} (${call.command}) did not come free within ${cancelGraceMs} ms after it was cancelled (calls.cancelGraceMs)`,
			),
		);
		this.#state = { kind: "cancelling", grace, reason };
		this.#instrument?.cancelled(reason);
		this.#abort.abort(reason);
	}

	#done(error: SnakepitError | undefined): void {
		// A broken conversation is the worker's end: its death tells the call why, with its last lines.
		if (error instanceof ConnectionBrokenError && error.ran === "maybe") {
			if (this.#state.kind === "running")
				this.#state = { kind: "unanswerable" };
			this.worker.conversationOver(error.message);
			return;
		}
		// Whoever takes no calls must not be offered this one again.
		if (error?.code === "WORKER_REPLACED") this.worker.retire("leaving");
		if (!this.#over(error)) return;
		if (error === undefined) this.#listener.answered(this);
		else this.#listener.failed(this, error);
		this.worker.finish(this);
	}

	/** Returns false when it was over before. */
	#over(error: SnakepitError | undefined): boolean {
		if (this.#state.kind === "over") return false;
		if (this.#state.kind === "cancelling") this.#state.grace.cancel();
		this.#state = { kind: "over" };
		const { clock, emit } = this.#setting;
		const ranMs = clock.now() - this.#startedMs;
		emit({
			...this.worker.ref,
			type: "call.released",
			wallMs: clock.wall(),
			callId: this.call.callId,
			command: this.call.command,
			attempt: this.number,
			ranMs,
		});
		this.#instrument?.released(error);
		this.#listener.over(this, ranMs);
		return true;
	}
}

/** Foreign errors are translated here, once. */
function translate(
	error: unknown,
	{ call, worker }: CallAttempt,
): SnakepitError {
	if (error instanceof SnakepitError) return error;
	const cause = error instanceof Error ? error : new Error(String(error));
	return new ToolError({
		code: "TOOL_FAILED",
		ran: "maybe",
		message: `"${call.command}" failed on worker ${worker.ref.workerId}: ${cause.message}`,
		cause: error,
		remote: {
			type: cause.name,
			message: cause.message,
			traceback: cause.stack ?? "",
			notes: [],
			frames: [],
			cause: undefined,
		},
	});
}
