import type {
	EventOf,
	SnakepitEvent,
	SnakepitEventType,
	SnakepitListener,
} from "../events.ts";

interface Subscription {
	readonly listener: SnakepitListener;
	/** The types that it is called with; `undefined` for all. */
	readonly types: ReadonlySet<SnakepitEventType> | undefined;
	/** The types that it shows to people. */
	readonly takes: readonly SnakepitEventType[] | undefined;
}

/**
 * Calls every listener of one pool. One that throws hurts neither the pool nor
 * the others: they are called with `listener.threw`.
 */
export class EventHub {
	readonly #subscriptions = new Set<Subscription>();
	/** The types that somebody listens to: each call asks several times. */
	#listened: ReadonlySet<SnakepitEventType> | "all" = new Set();

	/**
	 * Subscribes to all events, or to those of some types. Returns the function that ends the subscription.
	 */
	subscribe(
		listener: SnakepitListener,
		types?: readonly SnakepitEventType[],
	): () => void {
		return this.#add({
			listener,
			types: types && new Set(types),
			takes: listener.takes,
		});
	}

	/** Subscribes to the events of one type, and shows them to people. */
	subscribeTo<Type extends SnakepitEventType>(
		type: Type,
		listener: (event: EventOf<Type>) => void,
	): () => void {
		return this.#add({
			listener: (event) => listener(event as EventOf<Type>),
			types: new Set([type]),
			takes: [type],
		});
	}

	/** Whether a listener shows the events of a type to people. */
	isTaken(type: SnakepitEventType): boolean {
		for (const { takes } of this.#subscriptions)
			if (takes?.includes(type)) return true;
		return false;
	}

	/** Whether there is a listener for events of a type: one that there is not for need not be made. */
	hasListener(type: SnakepitEventType): boolean {
		return this.#listened === "all" || this.#listened.has(type);
	}

	readonly emit = (event: SnakepitEvent): void => {
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
	};

	#add(subscription: Subscription): () => void {
		this.#subscriptions.add(subscription);
		this.#noteListened();
		return () => {
			this.#subscriptions.delete(subscription);
			this.#noteListened();
		};
	}

	#noteListened(): void {
		const types = [...this.#subscriptions].map(({ types }) => types ?? "all");
		this.#listened = types.includes("all")
			? "all"
			: new Set(types.flatMap((each) => (each === "all" ? [] : [...each])));
	}
}
