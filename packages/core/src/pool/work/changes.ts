/** Lets code wait until something may have changed; it then looks for itself. */
export class Changes {
	#next = Promise.withResolvers<void>();
	#state: "unwatched" | "watched" = "unwatched";

	/** Resolves at the next change. */
	next(): Promise<void> {
		this.#state = "watched";
		return this.#next.promise;
	}

	/** Something may have changed. Costs nothing when nothing waits. */
	note(): void {
		if (this.#state === "unwatched") return;
		this.#state = "unwatched";
		this.#next.resolve();
		this.#next = Promise.withResolvers<void>();
	}
}
