import type { CallOutcome } from "../../call-events.ts";
import type { ErrorCode } from "../../error-codes.ts";
import { UNMEASURED_TYPES } from "../../event-types.ts";
import type {
	CallInstrument,
	CallMeasures,
	InstrumentProblem,
	ObservedPool,
	PoolInstrument,
} from "../../instrument.ts";
import type { ResolvedOptions } from "../../options.ts";
import type { Call } from "../calls/call.ts";
import type { EventHub } from "./event-hub.ts";
import { addFollower, type Guard } from "./followed-call.ts";

/** The instruments of one pool. What one of them throws hurts neither the pool nor the others. */
export class Instrumentation implements CallMeasures {
	readonly #pool: string;
	readonly #guard: Guard;
	readonly #followers: readonly PoolInstrument[];
	readonly #measures: readonly CallMeasures[];

	private constructor(
		pool: string,
		followers: readonly PoolInstrument[],
		guard: Guard,
	) {
		this.#pool = pool;
		this.#followers = followers;
		this.#measures = followers.flatMap(({ measure }) => measure ?? []);
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
			hub.subscribe(
				(event) => follower.hear(event),
				follower.measure && UNMEASURED_TYPES,
			);
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
	accept(call: Call): CallInstrument | undefined {
		const accepted = {
			pool: this.#pool,
			callId: call.callId,
			command: call.command,
			shape: call.work.shape,
			sessionId: call.session?.id,
			traceContext: call.traceContext,
		};
		let followed: CallInstrument | undefined;
		for (const follower of this.#followers) {
			const one = this.#guard("instrument.accept", () =>
				follower.accept?.(accepted),
			);
			if (one === undefined) continue;
			if (one.dispatched === undefined)
				call.headers = merged(call.headers, one.traceContext);
			else followed = addFollower(one, followed, call, this.#guard);
		}
		return followed;
	}

	// These run for every call: no function is made for `#guard`.
	dispatched(command: string, waitedMs: number): void {
		for (const measure of this.#measures)
			try {
				measure.dispatched(command, waitedMs);
			} catch (error) {
				this.#failed(error);
			}
	}

	released(command: string, ranMs: number): void {
		for (const measure of this.#measures)
			try {
				measure.released(command, ranMs);
			} catch (error) {
				this.#failed(error);
			}
	}

	settled(
		command: string,
		outcome: CallOutcome,
		code: ErrorCode | undefined,
		totalMs: number,
	): void {
		for (const measure of this.#measures)
			try {
				measure.settled(command, outcome, code, totalMs);
			} catch (error) {
				this.#failed(error);
			}
	}

	#failed(error: unknown): void {
		this.#guard("instrument.measure", () => {
			throw error;
		});
	}
}

type Headers = Readonly<Record<string, string>>;

/** What has no others with it is kept as it is, with its mark. */
function merged(headers: Headers, more: Headers): Headers {
	for (const _ in headers) return { ...headers, ...more };
	return more;
}
