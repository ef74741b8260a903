type Items = AsyncIterable<unknown> | Iterable<unknown>;

/** What a caller's call reads while it runs. It can be read once, so it is known whether that was begun. */
export class CallInput {
	/** For the adapter. */
	readonly items: Items;
	#opened: "no" | "yes" = "no";

	constructor(source: Items) {
		const open = (): void => {
			this.#opened = "yes";
		};
		this.items =
			Symbol.asyncIterator in source
				? {
						[Symbol.asyncIterator]() {
							open();
							return source[Symbol.asyncIterator]();
						},
					}
				: {
						[Symbol.iterator]() {
							open();
							return source[Symbol.iterator]();
						},
					};
	}

	/** Whether something of it may be gone. */
	get opened(): "no" | "yes" {
		return this.#opened;
	}
}
