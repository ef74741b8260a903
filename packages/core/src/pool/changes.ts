/** Lets code wait until something may have changed; it then looks for itself. */
export class Changes {
	#next = Promise.withResolvers<void>();
	#state: "unwatched" | "watched" = "unwatched";

	/** Resolves when it is told the next time. */
	next(): Promise<void> {
		this.#state = "watched";
		return this.#next.promise;
	}

	/** Costs nothing when nobody waits. */
	tell(): void {
		if (this.#state === "unwatched") return;
		this.#state = "unwatched";
		this.#next.resolve();
		this.#next = Promise.withResolvers<void>();
	}
}
