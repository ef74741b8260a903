/** How many chunks a worker may send ahead of the consumer. */
export class CreditWindow {
	readonly size: number;
	/** What the worker may still send. */
	private granted: number;
	/** What the consumer took since the last grant. */
	private taken = 0;

	constructor(size: number) {
		this.size = size;
		this.granted = size;
	}

	/** A chunk arrived; false when the worker had no credit for it. */
	arrive(): boolean {
		if (this.granted === 0) return false;
		this.granted--;
		return true;
	}

	/** The consumer took a chunk; returns how many more to allow now. Half a window at a time, to save frames. */
	take(): number {
		if (++this.taken < Math.max(1, Math.floor(this.size / 2))) return 0;
		const grant = this.taken;
		this.taken = 0;
		this.granted += grant;
		return grant;
	}
}
