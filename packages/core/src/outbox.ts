/** Room for so many actions and their subjects is kept. */
const MOST_KEPT = 128;

/**
 * Where events wait until what they report is complete.
 *
 * A change of state often takes several steps, and a listener may do anything: abort a call, close the pool. So a stretch
 * of code that changes state is a transition, within which events only wait. They leave in their order when the outermost
 * transition is over, in the same turn; what a listener does then is a transition of its own, whose events follow those
 * that wait already. So every listener receives them in one order, and the last one says how things are.
 */
class Outbox {
	#depth = 0;
	#isDelivering = false;
	/** What waits, as pairs: what is done, and with what. Kept for the next ones: most transitions have a few. */
	readonly #waiting: unknown[] = [];
	/** How many of both wait: what is to come after them waits, too. Asked for with every call: a field, not a function. */
	size = 0;
	/** The place of what is delivered next. */
	#next = 0;

	/** A transition begins. Each `enter` has its `leave`, in a `finally`. */
	enter(): void {
		this.#depth++;
	}

	/** It is over: with the outermost one, what waits is delivered. */
	leave(): void {
		if (--this.#depth === 0 && this.size > 0) this.#deliver();
	}

	/** The same around a function, for what is not done with every call. */
	readonly during = <Value>(transition: () => Value): Value => {
		this.#depth++;
		try {
			return transition();
		} finally {
			this.leave();
		}
	};

	/**
	 * Does something when no transition is under way, after all that waits: notifies the listeners of an event, or sends
	 * what an event reports. What is not an event looks at the state again.
	 *
	 * @param act never throws.
	 */
	post<Subject>(act: (subject: Subject) => void, subject: Subject): void {
		this.#waiting[this.size++] = act;
		this.#waiting[this.size++] = subject;
		if (this.#depth === 0) this.#deliver();
	}

	/** Delivers all that waits now: the program ends in this turn, perhaps within a transition or an event. */
	flush(): void {
		const waiting = this.#waiting;
		// What listeners do meanwhile adds to it.
		while (this.#next < this.size) {
			const act = waiting[this.#next++] as (subject: unknown) => void;
			const subject = waiting[this.#next];
			waiting[this.#next++] = undefined;
			act(subject);
		}
	}

	#deliver(): void {
		if (this.#isDelivering) return;
		this.#isDelivering = true;
		try {
			this.flush();
		} finally {
			if (this.size > MOST_KEPT) this.#waiting.length = 0;
			this.size = 0;
			this.#next = 0;
			this.#isDelivering = false;
		}
	}
}

/** One for the thread, as its stack is one: a listener of one pool may act on another one, of whatever run. */
export const outbox: Outbox = new Outbox();
