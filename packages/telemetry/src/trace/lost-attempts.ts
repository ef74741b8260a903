import { isSpanContextValid, type SpanContext } from "@opentelemetry/api";

const PER_WORKER = 8;
const WORKERS = 256;

/** Attempts that failed with their worker, for links from its restart. Bounded; the oldest are dropped first. */
export class LostAttempts {
	readonly #byIncarnation = new Map<string, SpanContext[]>();

	note(incarnation: string, attempt: SpanContext): void {
		if (!isSpanContextValid(attempt)) return;
		const attempts = this.#byIncarnation.get(incarnation);
		if (attempts === undefined) {
			const [oldest] = this.#byIncarnation.keys();
			if (this.#byIncarnation.size >= WORKERS && oldest !== undefined)
				this.#byIncarnation.delete(oldest);
			this.#byIncarnation.set(incarnation, [attempt]);
		} else if (attempts.length < PER_WORKER) attempts.push(attempt);
	}

	of(incarnation: string): readonly SpanContext[] {
		return this.#byIncarnation.get(incarnation) ?? [];
	}

	forget(incarnation: string): void {
		this.#byIncarnation.delete(incarnation);
	}
}
