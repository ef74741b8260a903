import type {
	CallInstrument,
	Instrument,
} from "../../src/contract/instrument.ts";
import { type Pool, SnakepitError } from "../../src/index.ts";
import type { SeededRandom } from "../../src/testing/virtual-pool.ts";
import { outcome } from "./virtual-pool.ts";

/** What acts on a pool, from outside or in the middle of anything. */
export class Actor {
	/** Of the calls that were made. */
	readonly outcomes: ReturnType<typeof outcome>[] = [];
	/** Of what was done to the pool. */
	readonly controls: ReturnType<typeof outcome>[] = [];
	readonly aborts: AbortController[] = [];
	/** Those that were done, by name. */
	readonly acted: Set<string> = new Set();
	/** On which it acts, once there is one. */
	pool: Pool | undefined;
	readonly #random: SeededRandom;
	readonly #commands: readonly string[];
	/** Each event may set off others: it has to end. */
	#actsLeft: number;

	constructor(
		random: SeededRandom,
		commands: readonly string[],
		actsLeft: number,
	) {
		this.#random = random;
		this.#commands = commands;
		this.#actsLeft = actsLeft;
	}

	/** Does something in the middle of something else, or nothing. May throw. @param share how often it does. */
	interfere(share: number): void {
		if (this.pool === undefined) return;
		if (this.#actsLeft <= 0 || this.#random.fraction() >= share) return;
		this.#actsLeft--;
		this.act();
		if (this.#random.below(10) > 0) return;
		this.acted.add("throw");
		throw new Error("a listener that throws");
	}

	act(): void {
		const acts = {
			abort: () => this.aborts[this.#random.below(this.aborts.length)]?.abort(),
			execute: () => this.execute(),
			execute_more: () => this.execute(),
			stream: () => this.stream(),
			session: () => {
				using session = this.#its.session({ affinity: "strict" });
				this.outcomes.push(outcome(session.execute("echo", [1])));
			},
			pause: () => this.#its.pause(),
			resume: () => this.#its.resume(),
			resume_again: () => this.#its.resume(),
			resize: () => {
				const min = this.#random.below(3);
				this.#its.resize({ min, max: min + 1 + this.#random.below(2) });
			},
			recycle: () => {
				const manner = this.#random.pick(["gentle", "forced"] as const);
				const target = this.#random.pick([this.#workerId(), "all"]);
				this.#control(this.#its.recycle(target, { manner }));
			},
			restart: () => this.#control(this.#its.restart(this.#workerId())),
			...(this.#random.below(12) === 0 && {
				close: () => this.close("gentle"),
				close_at_once: () => this.close("forced"),
			}),
		};
		const [name, act] = this.#random.pick(Object.entries(acts));
		this.acted.add(name);
		try {
			act();
		} catch (error) {
			// A pool that closes refuses whatever is asked of it.
			if (!(error instanceof SnakepitError)) throw error;
			this.#control(Promise.reject(error));
		}
	}

	execute(): void {
		const abort = new AbortController();
		this.aborts.push(abort);
		const timeoutMs = this.#random.pick([undefined, undefined, 50, 300]);
		const attempts = 1 + this.#random.below(3);
		this.outcomes.push(
			outcome(
				this.#its.execute(this.#random.pick(this.#commands), [20], {
					...{ signal: abort.signal, timeoutMs },
					priority: this.#random.below(3) - 1,
					retry: { attempts, backoffMs: this.#random.pick([0, 40]) },
				}),
			),
		);
	}

	stream(): void {
		const abort = new AbortController();
		this.aborts.push(abort);
		const stream = this.#its.stream("count", [3], { signal: abort.signal });
		this.outcomes.push(outcome(stream.next()));
		if (this.#random.below(2) === 0) void stream.return?.();
		else this.outcomes.push(outcome(Array.fromAsync(stream)));
	}

	close(manner: "gentle" | "forced"): void {
		const drainMs = this.#random.pick([0, 100, 400]);
		this.#control(this.#its.close({ manner, drainMs }));
	}

	/** An instrument that acts in the middle of a transition, where no event leaves. */
	instrument(share: number): Instrument {
		const act = (): void => this.interfere(share);
		const attempt = {
			traceContext: {},
			backCall: <T>(_: unknown, run: () => Promise<T>) => run(),
			cancelled: act,
			released: act,
		};
		const call: CallInstrument = {
			queued: act,
			dispatched: () => {
				act();
				return attempt;
			},
			retried: act,
			settled: act,
		};
		return {
			attach: () => ({
				hear: () => {},
				accept: () => {
					act();
					return call;
				},
			}),
		};
	}

	get #its(): Pool {
		if (this.pool === undefined) throw new TypeError("There is no pool yet.");
		return this.pool;
	}

	#control(promise: Promise<void>): void {
		this.controls.push(outcome(promise));
	}

	#workerId(): string {
		return `${this.#its.name}-${this.#random.below(3)}`;
	}
}
