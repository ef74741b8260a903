import type { Call } from "../calls/call.ts";
import { isBefore, PriorityQueue } from "./priority-queue.ts";

/** The process that a call must run on because of its strict session; `undefined` when any will do. */
export function boundTo(call: Call): string | undefined {
	return call.session?.affinity === "strict"
		? call.session.incarnation
		: undefined;
}

/**
 * The calls that wait: one common line, and one for each process that strict
 * sessions are bound to.
 */
export class WaitingRoom {
	readonly #common = new PriorityQueue<Call>();
	readonly #bound = new Map<string, PriorityQueue<Call>>();
	/** Of all queues. Asked for with every call: a field, not a function. */
	size = 0;

	add(call: Call): void {
		this.size++;
		this.#enqueue(call);
	}

	#enqueue(call: Call): void {
		const incarnation = boundTo(call);
		if (incarnation === undefined) {
			this.#common.add(call);
			return;
		}
		let queue = this.#bound.get(incarnation);
		if (queue === undefined) {
			queue = new PriorityQueue();
			this.#bound.set(incarnation, queue);
		}
		queue.add(call);
	}

	remove(call: Call): void {
		const queues = [this.#common, ...this.#bound.values()];
		if (queues.some((queue) => queue.remove(call))) this.size--;
	}

	/** Takes the next call that this process may run; calls whose session was bound elsewhere meanwhile change the line. */
	takeFor(incarnation: string): Call | undefined {
		const own = this.#bound.get(incarnation);
		for (;;) {
			const bound = own?.peek();
			const common = this.#common.peek();
			if (
				bound !== undefined &&
				(common === undefined || isBefore(bound, common))
			) {
				own?.take();
				this.size--;
				return bound;
			}
			if (common === undefined) return undefined;
			this.#common.take();
			const wanted = boundTo(common);
			if (wanted === undefined || wanted === incarnation) {
				this.size--;
				return common;
			}
			this.#enqueue(common);
		}
	}

	/** The next call: of the common line, which this process may not be allowed to run, or of those for this very process. */
	peekFor(incarnation: string): Call | undefined {
		const bound = this.#bound.get(incarnation)?.peek();
		const common = this.#common.peek();
		return bound !== undefined &&
			(common === undefined || isBefore(bound, common))
			? bound
			: common;
	}

	/** Takes the next call whose session is bound to this process, also one that came before it was bound. */
	takeBound(incarnation: string): Call | undefined {
		for (const call of this.#early(incarnation)) {
			this.#common.remove(call);
			this.#enqueue(call);
		}
		const call = this.#bound.get(incarnation)?.take();
		if (call !== undefined) this.size--;
		return call;
	}

	/** Takes out every call that could only run on this process, also those that came before their session was bound. */
	evict(incarnation: string): readonly Call[] {
		const bound = [...(this.#bound.get(incarnation) ?? [])];
		this.#bound.delete(incarnation);
		const early = this.#early(incarnation);
		for (const call of early) this.#common.remove(call);
		this.size -= bound.length + early.length;
		return [...bound, ...early];
	}

	/** In no particular order. */
	all(): readonly Call[] {
		return [
			...this.#common,
			...[...this.#bound.values()].flatMap((queue) => [...queue]),
		];
	}

	/** Those in the common line that came before their session was bound to this process. */
	#early(incarnation: string): readonly Call[] {
		return [...this.#common].filter((call) => boundTo(call) === incarnation);
	}
}
