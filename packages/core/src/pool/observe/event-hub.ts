import type { CallMeter } from "@snakepit/control/server";
import type {
	EventOf,
	SnakepitEvent,
	SnakepitEventType,
	SnakepitListener,
} from "../../contract/events.ts";
import { outbox } from "../../outbox.ts";

interface Subscription {
	readonly listener: SnakepitListener;
	/** The types that it is called with; `undefined` for all. */
	readonly types: ReadonlySet<SnakepitEventType> | undefined;
	/** The types that it shows to people. */
	readonly shows: readonly SnakepitEventType[] | undefined;
	/** Says of which calls it wants the event of their end; without one it wants all. */
	readonly meter?: CallMeter | undefined;
}

/** Which events of a call have a listener, or a counter for its end. */
interface WantedOfCalls {
	readonly accepted: boolean;
	readonly dispatched: boolean;
	readonly released: boolean;
	readonly settled: boolean;
}

/** Runs work so that nothing that observes the program takes it for the program's. */
export type Unobserved = <T>(run: () => T) => T;

/** Adds what one instrument or listener does. Runs the work once, whatever that does: its own failure must not be the work's. */
export function unobservedBy(
	outer: Unobserved | undefined,
	one: { readonly unobserved?: Unobserved | undefined },
): Unobserved | undefined {
	if (one.unobserved === undefined) return outer;
	return <T>(run: () => T): T => {
		const inner = (): T => {
			let answer:
				| { readonly value: T }
				| { readonly error: unknown }
				| undefined;
			try {
				one.unobserved?.(() => {
					try {
						answer = { value: run() };
					} catch (error) {
						answer = { error };
					}
				});
			} catch {
				// The work is what counts.
			}
			answer ??= { value: run() };
			if ("error" in answer) throw answer.error;
			return answer.value;
		};
		return outer === undefined ? inner() : outer(inner);
	};
}

const NOTHING_WANTED: WantedOfCalls = {
	accepted: false,
	dispatched: false,
	released: false,
	settled: false,
};

/**
 * Calls every listener of one pool. One that throws hurts neither the pool nor
 * the others: they are called with `listener.threw`.
 */
export class EventHub {
	readonly #subscriptions = new Set<Subscription>();
	readonly #records: {
		readonly record: SnakepitListener;
		readonly types: ReadonlySet<SnakepitEventType> | undefined;
	}[] = [];
	#meters: readonly CallMeter[] = [];
	/** Whether the ends of calls have a listener: asked at the end of each. */
	#endIsListened = false;
	/** The types that have a listener. */
	#listened: ReadonlySet<SnakepitEventType> | "all" = new Set();
	/** Which events of calls have a listener: each call checks all of them. */
	wanted: WantedOfCalls = NOTHING_WANTED;

	/**
	 * Subscribes to all events, or to those of some types. Returns the function that ends the subscription.
	 *
	 * @param meter is called at the end of each call. It gets no event of a call that it does not want, unless another
	 *   listener wants it.
	 */
	subscribe(
		listener: SnakepitListener,
		types?: readonly SnakepitEventType[],
		meter?: CallMeter,
	): () => void {
		return this.#add({
			...{ listener, shows: listener.shows, meter },
			types: types && new Set(types),
		});
	}

	/** Has a call that has ended counted, where `wanted.settled`. Returns whether the event of its end has to be made. */
	wantsEnd(
		pool: string,
		command: string,
		outcome: string,
		totalMs: number,
	): boolean {
		let isWanted = this.#endIsListened;
		for (const meter of this.#meters)
			if (meter(pool, command, outcome, totalMs)) isWanted = true;
		return isWanted;
	}

	/** Subscribes to the events of one type, and shows them to people. */
	subscribeTo<Type extends SnakepitEventType>(
		type: Type,
		listener: (event: EventOf<Type>) => void,
	): () => void {
		return this.#add({
			listener: (event) => listener(event as EventOf<Type>),
			types: new Set([type]),
			shows: [type],
		});
	}

	/**
	 * Has events, or those of some types, recorded in the moment in which they happen, before any listener receives them:
	 * one may end the program. Only for what changes nothing else.
	 */
	recordWith(
		record: SnakepitListener,
		types?: readonly SnakepitEventType[],
	): void {
		this.#records.push({ record, types: types && new Set(types) });
	}

	/** Whether a listener shows the events of a type to people. */
	isShown(type: SnakepitEventType): boolean {
		for (const { shows } of this.#subscriptions)
			if (shows?.includes(type)) return true;
		return false;
	}

	/** Whether there is a listener for events of a type: one that there is not for need not be made. */
	hasListener(type: SnakepitEventType): boolean {
		return this.#listened === "all" || this.#listened.has(type);
	}

	/** Notifies the listeners when what the event reports is complete. Never throws. */
	readonly emit = (event: SnakepitEvent): void => {
		if (this.#records.length > 0) this.#record(event);
		outbox.post(this.receive, event);
	};

	#record(event: SnakepitEvent): void {
		for (const { record, types } of this.#records)
			if (types?.has(event.type) !== false) record(event);
	}

	/** The variables with the context in which a worker or job is started, of the listeners that know one. */
	readonly environment = (
		incarnation: string,
	): Readonly<Record<string, string>> => {
		const known: Record<string, string> = {};
		for (const { listener } of this.#subscriptions)
			try {
				Object.assign(known, listener.environment?.(incarnation));
			} catch {
				// The program starts without them.
			}
		return known;
	};

	/** What the listeners that observe the program have connections made in; `undefined` if none does. */
	readonly unobserving = (): Unobserved | undefined => {
		let all: Unobserved | undefined;
		for (const { listener } of this.#subscriptions)
			all = unobservedBy(all, listener);
		return all;
	};

	/** Notifies the listeners now: for an event of another hub, that notifies this one in its turn. */
	readonly receive: SnakepitListener = Object.defineProperty(
		Object.assign((event: SnakepitEvent): void => this.#receive(event), {
			environment: this.environment,
		}),
		"unobserved",
		{ get: this.unobserving },
	);

	#receive(event: SnakepitEvent): void {
		for (const { listener, types } of this.#subscriptions) {
			if (types !== undefined && !types.has(event.type)) continue;
			try {
				listener(event);
			} catch (error) {
				if (event.type === "listener.threw") continue; // Or it would report itself for ever.
				this.emit({
					type: "listener.threw",
					wallMs: event.wallMs,
					of: event.type,
					error,
				});
			}
		}
	}

	#add(subscription: Subscription): () => void {
		this.#subscriptions.add(subscription);
		this.#noteListened();
		return () => {
			this.#subscriptions.delete(subscription);
			this.#noteListened();
		};
	}

	#noteListened(): void {
		const subscriptions = [...this.#subscriptions];
		this.#meters = subscriptions.flatMap(({ meter }) => meter ?? []);
		const types = subscriptions.map(({ types, meter }) =>
			meter === undefined
				? (types ?? "all")
				: [...(types ?? [])].filter((type) => type !== "call.settled"),
		);
		this.#listened = types.includes("all")
			? "all"
			: new Set(types.flatMap((each) => (each === "all" ? [] : [...each])));
		this.#endIsListened = this.hasListener("call.settled");
		this.wanted = {
			accepted: this.hasListener("call.accepted"),
			dispatched: this.hasListener("call.dispatched"),
			released: this.hasListener("call.released"),
			settled: this.#endIsListened || this.#meters.length > 0,
		};
	}
}
