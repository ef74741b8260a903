import type { BackCall } from "../../adapter.ts";
import type { SnakepitError } from "../../errors.ts";
import type {
	AttemptInstrument,
	CallInstrument,
	DispatchedAttempt,
	Ran,
} from "../../instrument.ts";
import type { Call } from "../calls/call.ts";

/** Runs foreign code; returns `undefined` when it throws, which is reported as an event. */
export type Guard = <T>(of: string, action: () => T) => T | undefined;

/** Adds a follower of a call to those before it. */
export function addFollower(
	one: CallInstrument,
	others: CallInstrument | undefined,
	call: Call,
	guard: Guard,
): CallInstrument {
	const Followed =
		one.sentAhead !== undefined &&
		(others === undefined || others.sentAhead !== undefined)
			? FollowedCallAhead
			: FollowedCall;
	return new Followed(one, others, call, guard);
}

/** One follower of a call, and those before it. */
class FollowedCall implements CallInstrument {
	protected readonly one: CallInstrument;
	protected readonly others: CallInstrument | undefined;
	protected readonly call: Call;
	protected readonly guard: Guard;

	constructor(
		one: CallInstrument,
		others: CallInstrument | undefined,
		call: Call,
		guard: Guard,
	) {
		this.one = one;
		this.others = others;
		this.call = call;
		this.guard = guard;
	}

	get traceId(): string | undefined {
		return (
			this.guard("instrument.traceId", () => this.one.traceId) ??
			this.others?.traceId
		);
	}

	queued(): void {
		this.guard("instrument.queued", () => this.one.queued());
		this.others?.queued();
	}

	dispatched(attempt: DispatchedAttempt): AttemptInstrument {
		const one = this.guard("instrument.dispatched", () =>
			this.one.dispatched(attempt),
		);
		const others = this.others?.dispatched(attempt);
		return new FollowedAttempt(one, others, this.call, this.guard);
	}

	retried(error: SnakepitError): void {
		this.guard("instrument.retried", () => this.one.retried(error));
		this.others?.retried(error);
	}

	settled(error: SnakepitError | undefined): void {
		this.guard("instrument.settled", () => this.one.settled(error));
		this.others?.settled(error);
	}
}

/**
 * The same where all can send headers without an attempt. A class of its own, not a function that each call keeps:
 * with one, the garbage collector took a call for alive long after its end, and copied 20 times as much.
 */
class FollowedCallAhead extends FollowedCall {
	sentAhead(): Readonly<Record<string, string>> {
		return {
			...(this.others?.sentAhead?.() ?? this.call.headers),
			...this.guard("instrument.sentAhead", () => this.one.sentAhead?.()),
		};
	}
}

/** One follower of an attempt, and those before it. */
class FollowedAttempt implements AttemptInstrument {
	readonly traceContext: Readonly<Record<string, string>>;
	readonly #one: AttemptInstrument | undefined;
	readonly #others: AttemptInstrument | undefined;
	readonly #guard: Guard;

	constructor(
		one: AttemptInstrument | undefined,
		others: AttemptInstrument | undefined,
		call: Call,
		guard: Guard,
	) {
		this.#one = one;
		this.#others = others;
		this.#guard = guard;
		const before = others?.traceContext ?? call.headers;
		this.traceContext =
			one === undefined ? before : { ...before, ...one.traceContext };
	}

	readonly backCall = <T>(
		backCall: BackCall,
		run: () => Promise<T>,
	): Promise<T> => {
		// Run once, whatever a follower does: its own failure must not be the function's.
		let running: Promise<T> | undefined;
		const once = (): Promise<T> => {
			running ??=
				this.#others === undefined
					? run()
					: this.#others.backCall(backCall, run);
			return running;
		};
		return (
			this.#guard("instrument.backCall", () =>
				this.#one?.backCall(backCall, once),
			) ?? once()
		);
	};

	cancelled(reason: SnakepitError): void {
		this.#guard("instrument.cancelled", () => this.#one?.cancelled(reason));
		this.#others?.cancelled(reason);
	}

	released(error: SnakepitError | undefined, ran: Ran | undefined): void {
		this.#guard("instrument.released", () => this.#one?.released(error, ran));
		this.#others?.released(error, ran);
	}
}
