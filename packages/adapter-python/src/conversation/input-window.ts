import { countedBytes } from "./credit-window.ts";

/** More items than the worker allows may be in transit while all of them together have fewer bytes than this. */
const SMALL_BYTES = 64 * 1024;

/** How far the items of an input may be ahead of the tool that reads them. */
export class InputWindow {
	/** The sizes of the items in transit, in order. */
	private readonly out: number[] = [];
	private outBytes = 0;
	/** How many items may be in transit, whatever their size; the worker's first grant. */
	private items = 0;

	/** The first grant opens the window; each later one says how many more items the tool has read. */
	grant(items: number): void {
		if (this.items === 0) {
			this.items = items;
			return;
		}
		for (const bytes of this.out.splice(0, items)) this.outBytes -= bytes;
	}

	/** Whether one more item may be sent. */
	get isOpen(): boolean {
		if (this.items === 0) return false;
		return this.out.length < this.items || this.outBytes < SMALL_BYTES;
	}

	/** An item of this many bytes was sent. */
	take(bytes: number): void {
		const counted = countedBytes(bytes);
		this.out.push(counted);
		this.outBytes += counted;
	}
}
