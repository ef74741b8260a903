import type { BackCall } from "../../contract/connection.ts";
import type { ErrorCode } from "../../contract/error-codes.ts";
import type { SnakepitError } from "../../contract/errors.ts";
import type {
	CallOutcome,
	InstrumentProblem,
	SnakepitEvent,
	SnakepitListener,
} from "../../contract/events.ts";
import type {
	AcceptedCall,
	AttemptInstrument,
	CallInstrument,
	CallMeasures,
	CommandRun,
	DispatchedAttempt,
	ObservedPool,
	PoolInstrument,
	UnfollowedCall,
} from "../../contract/instrument.ts";
import { UNMEASURED_TYPES } from "../../options/event-types.ts";
import type { ResolvedOptions } from "../../options/pool-options.ts";
import type { Call, CallFollowers } from "../calls/call.ts";
import { type EventHub, type Unobserved, unobservedBy } from "./event-hub.ts";

/** The instruments of one pool. What one of them throws hurts neither the pool nor the others. */
export class Instrumentation {
	readonly #pool: string;
	readonly #guard: Guard;
	readonly #followers: readonly PoolInstrument[];
	readonly #measures: readonly Measuring[];
	/** Runs work of the pool's own transport; see `PoolInstrument.unobserved`. */
	readonly unobserved: Unobserved | undefined;

	private constructor(
		pool: string,
		followers: readonly PoolInstrument[],
		guard: Guard,
	) {
		this.#pool = pool;
		this.#followers = followers;
		this.#measures = followers.flatMap((by) =>
			by.measure === undefined ? [] : { by, measure: by.measure },
		);
		this.unobserved = followers.reduce<Unobserved | undefined>(
			unobservedBy,
			undefined,
		);
		this.#guard = guard;
	}

	/** `undefined` when the pool has no instruments, or none that could be attached. */
	static attach(
		{ instruments, name, adapter }: ResolvedOptions,
		hub: EventHub,
		wall: () => number,
	): Instrumentation | undefined {
		const guard: Guard = (of, action) => {
			try {
				return action();
			} catch (error) {
				hub.emit({ type: "listener.threw", wallMs: wall(), of, error });
				return undefined;
			}
		};
		const followers = instruments.flatMap((instrument) => {
			const report = (problem: InstrumentProblem): void =>
				hub.emit({
					type: "telemetry.misconfigured",
					wallMs: wall(),
					...problem,
				});
			const pool = { name, adapter: adapter.name, report };
			const follower = guard("instrument.attach", () =>
				instrument.attach(pool),
			);
			if (follower === undefined) return [];
			const listener: SnakepitListener = Object.assign(
				(event: SnakepitEvent) => follower.hear(event),
				{
					environment: follower.environment?.bind(follower),
					unobserved: follower.unobserved?.bind(follower),
				},
			);
			hub.subscribe(listener, follower.measure && UNMEASURED_TYPES);
			return [follower];
		});
		return followers.length === 0
			? undefined
			: new Instrumentation(name, followers, guard);
	}

	watch(pool: ObservedPool): void {
		for (const follower of this.#followers)
			this.#guard("instrument.watch", () => follower.watch?.(pool));
	}

	detach(): void {
		for (const follower of this.#followers)
			this.#guard("instrument.detach", () => follower.detach?.());
	}

	/** Has every instrument send what it observed. Never rejects. */
	async flush(): Promise<void> {
		await Promise.allSettled(
			this.#followers.map((follower) =>
				this.#guard("instrument.flush", () => follower.flush?.()),
			),
		);
	}

	/** In the caller's asynchronous context. */
	accept(call: Call): CallFollowers | undefined {
		const accepted: AcceptedCall = {
			pool: this.#pool,
			callId: call.callId,
			command: call.command,
			shape: call.work.shape,
			args: call.args,
			sessionId: call.session?.id,
			traceContext: call.traceContext,
		};
		let followed: FollowedCall | undefined;
		for (const follower of this.#followers) {
			let one: CallInstrument | UnfollowedCall | undefined;
			try {
				one = follower.accept?.(accepted);
			} catch (error) {
				this.#failed("instrument.accept", error);
			}
			if (one === undefined) continue;
			if (one.dispatched === undefined)
				call.headers = merged(call.headers, one.traceContext);
			else followed = addFollower(follower, one, followed, call, this.#failed);
		}
		return followed;
	}

	dispatched({ command, instrument }: MeasuredCall, waitedMs: number): void {
		for (const { by, measure } of this.#measures)
			try {
				measure.dispatched(command, waitedMs, instrument?.of(by));
			} catch (error) {
				this.#failed("instrument.measure", error);
			}
	}

	released({ command, instrument }: MeasuredCall, ranMs: number): void {
		for (const { by, measure } of this.#measures)
			try {
				measure.released(command, ranMs, instrument?.of(by));
			} catch (error) {
				this.#failed("instrument.measure", error);
			}
	}

	settled(
		{ command, instrument }: MeasuredCall,
		outcome: CallOutcome,
		code: ErrorCode | undefined,
		totalMs: number,
	): void {
		for (const { by, measure } of this.#measures)
			try {
				const followed = instrument?.of(by);
				measure.settled(command, outcome, code, totalMs, followed);
			} catch (error) {
				this.#failed("instrument.measure", error);
			}
	}

	readonly #failed: Failed = (of, error) => {
		this.#guard(of, () => {
			throw error;
		});
	};
}

type MeasuredCall = Pick<Call, "command" | "instrument">;

/** An instrument that measures calls. */
interface Measuring {
	readonly by: PoolInstrument;
	readonly measure: CallMeasures;
}

type Headers = Readonly<Record<string, string>>;

/** What has no others with it is kept as it is, with its mark. */
function merged(headers: Headers, more: Headers): Headers {
	for (const _ in headers) return { ...headers, ...more };
	return more;
}

/** Runs foreign code; returns `undefined` when it throws, which is reported as an event. */
type Guard = <T>(of: string, action: () => T) => T | undefined;

/** Reports what foreign code threw. For what runs for every call: no function is made for `Guard` there. */
type Failed = (of: string, error: unknown) => void;

/** Adds a follower of a call to those before it. */
function addFollower(
	by: PoolInstrument,
	one: CallInstrument,
	others: FollowedCall | undefined,
	call: Call,
	failed: Failed,
): FollowedCall {
	const Followed =
		one.prefetched !== undefined &&
		(others === undefined || others.prefetched !== undefined)
			? PrefetchedFollowedCall
			: FollowedCall;
	return new Followed(by, one, others, call, failed);
}

/** One follower of a call, and those before it. */
class FollowedCall implements CallFollowers {
	readonly #by: PoolInstrument;
	protected readonly one: CallInstrument;
	protected readonly others: FollowedCall | undefined;
	protected readonly call: Call;
	/** Reports what it throws. */
	protected readonly failed: Failed;

	constructor(
		by: PoolInstrument,
		one: CallInstrument,
		others: FollowedCall | undefined,
		call: Call,
		failed: Failed,
	) {
		this.#by = by;
		this.one = one;
		this.others = others;
		this.call = call;
		this.failed = failed;
	}

	/** Of one that is `PrefetchedFollowedCall`. */
	prefetched?(): Headers;

	/** What one instrument follows the call with. */
	of(by: PoolInstrument): CallInstrument | undefined {
		return by === this.#by ? this.one : this.others?.of(by);
	}

	get traceId(): string | undefined {
		let one: string | undefined;
		try {
			one = this.one.traceId;
		} catch (error) {
			this.failed("instrument.traceId", error);
		}
		return one ?? this.others?.traceId;
	}

	queued(): void {
		try {
			this.one.queued();
		} catch (error) {
			this.failed("instrument.queued", error);
		}
		this.others?.queued();
	}

	dispatched(attempt: DispatchedAttempt): FollowedAttempt {
		let one: AttemptInstrument | undefined;
		try {
			one = this.one.dispatched(attempt);
		} catch (error) {
			this.failed("instrument.dispatched", error);
		}
		const others = this.others?.dispatched(attempt);
		return new FollowedAttempt(one, others, this.call, this.failed);
	}

	retried(error: SnakepitError): void {
		try {
			this.one.retried(error);
		} catch (threw) {
			this.failed("instrument.retried", threw);
		}
		this.others?.retried(error);
	}

	settled(error: SnakepitError | undefined, args: unknown): void {
		try {
			this.one.settled(error, args);
		} catch (threw) {
			this.failed("instrument.settled", threw);
		}
		this.others?.settled(error, args);
	}
}

/**
 * The same where all can send headers without an attempt. A class of its own, not a function that each call keeps:
 * with one, the garbage collector took a call for alive long after its end, and copied 20 times as much.
 */
class PrefetchedFollowedCall extends FollowedCall {
	override prefetched(): Headers {
		const before = this.others?.prefetched?.() ?? this.call.headers;
		try {
			return merged(before, this.one.prefetched?.() ?? {});
		} catch (error) {
			this.failed("instrument.prefetched", error);
			return before;
		}
	}
}

/** One follower of an attempt, and those before it. */
class FollowedAttempt implements AttemptInstrument {
	readonly traceContext: Readonly<Record<string, string>>;
	readonly #one: AttemptInstrument | undefined;
	readonly #others: FollowedAttempt | undefined;
	readonly #failed: Failed;

	constructor(
		one: AttemptInstrument | undefined,
		others: FollowedAttempt | undefined,
		call: Call,
		failed: Failed,
	) {
		this.#one = one;
		this.#others = others;
		this.#failed = failed;
		const before = others?.traceContext ?? call.headers;
		this.traceContext =
			one === undefined ? before : merged(before, one.traceContext);
	}

	sending<T>(send: () => T): T {
		const others = this.#others;
		const inner = others === undefined ? send : (): T => others.sending(send);
		return this.#one?.sending === undefined
			? inner()
			: this.#one.sending(inner);
	}

	backCall<T>(backCall: BackCall, run: () => Promise<T>): Promise<T> {
		// Run once, whatever a follower does: its own failure must not be the function's.
		let running: Promise<T> | undefined;
		const once = (): Promise<T> => {
			running ??=
				this.#others === undefined
					? run()
					: this.#others.backCall(backCall, run);
			return running;
		};
		try {
			return this.#one?.backCall(backCall, once) ?? once();
		} catch (error) {
			this.#failed("instrument.backCall", error);
			return once();
		}
	}

	cancelled(reason: SnakepitError): void {
		try {
			this.#one?.cancelled(reason);
		} catch (error) {
			this.#failed("instrument.cancelled", error);
		}
		this.#others?.cancelled(reason);
	}

	released(
		error: SnakepitError | undefined,
		ran: CommandRun | undefined,
	): void {
		try {
			this.#one?.released(error, ran);
		} catch (threw) {
			this.#failed("instrument.released", threw);
		}
		this.#others?.released(error, ran);
	}
}
