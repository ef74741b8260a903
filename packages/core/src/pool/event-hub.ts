import type {
	EventOf,
	SnakepitEvent,
	SnakepitEventType,
	SnakepitListener,
} from "../events.ts";

/**
 * Tells every listener of one pool. One that throws hurts neither the pool nor
 * the others: they hear of it as `listener.threw`.
 */
export class EventHub {
	readonly #listeners = new Set<SnakepitListener>();

	/** Returns the function that ends the subscription. */
	subscribe(listener: SnakepitListener): () => void {
		this.#listeners.add(listener);
		return () => {
			this.#listeners.delete(listener);
		};
	}

	/** Subscribes to the events of one type. */
	subscribeTo<Type extends SnakepitEventType>(
		type: Type,
		listener: (event: EventOf<Type>) => void,
	): () => void {
		const hear = (event: SnakepitEvent): void => {
			if (event.type === type) listener(event as EventOf<Type>);
		};
		return this.subscribe(Object.assign(hear, { takes: [type] }));
	}

	/** Whether a listener shows the events of a type to people. */
	isTaken(type: SnakepitEventType): boolean {
		for (const { takes } of this.#listeners)
			if (takes?.includes(type)) return true;
		return false;
	}

	readonly emit = (event: SnakepitEvent): void => {
		for (const listener of this.#listeners) {
			try {
				listener(event);
			} catch (error) {
				if (event.type === "listener.threw") continue; // Or it would tell of itself for ever.
				this.emit({
					type: "listener.threw",
					wallMs: event.wallMs,
					of: event.type,
					error,
				});
			}
		}
	};
}
