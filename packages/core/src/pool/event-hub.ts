import type { EventOf, SnakepitEvent, SnakepitEventType } from "../events.ts";

export type EventListener = (event: SnakepitEvent) => void;

/**
 * Tells every listener of one pool. One that throws hurts neither the pool nor
 * the others: they hear of it as `listener.threw`.
 */
export class EventHub {
	readonly #listeners = new Set<EventListener>();

	/** Returns the function that ends the subscription. */
	subscribe(listener: EventListener): () => void {
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
		return this.subscribe((event) => {
			if (event.type === type) listener(event as EventOf<Type>);
		});
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
