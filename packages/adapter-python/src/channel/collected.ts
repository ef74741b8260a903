/** So much is reserved at once for what is only announced. */
const RESERVED_BYTES = 256 * 1024;
/** And so many times as much as has arrived. Nothing of it is used before that. */
const BELIEVED = 32;

/** Bytes of a known number that arrive in pieces, in memory of their own. */
export class Collected {
	private readonly length: number;
	private bytes: Buffer;
	private arrived = 0;

	constructor(length: number) {
		this.length = length;
		this.bytes = Buffer.allocUnsafeSlow(Math.min(length, RESERVED_BYTES));
	}

	/** How many have not arrived. */
	get missing(): number {
		return this.length - this.arrived;
	}

	/** How many there is memory for. */
	get reserved(): number {
		return this.bytes.length;
	}

	/** Copies a piece, which has no more than what is missing. */
	add(piece: Uint8Array): void {
		for (let at = 0; at < piece.length; ) {
			if (this.arrived === this.bytes.length) this.grow();
			const room = this.bytes.length - this.arrived;
			const end = Math.min(piece.length, at + room);
			this.bytes.set(piece.subarray(at, end), this.arrived);
			this.arrived += end - at;
			at = end;
		}
	}

	/** All of it, when nothing is missing. */
	whole(): Uint8Array {
		return this.bytes;
	}

	private grow(): void {
		const size = Math.min(this.length, this.arrived * BELIEVED);
		const grown = Buffer.allocUnsafeSlow(size);
		this.bytes.copy(grown, 0, 0, this.arrived);
		this.bytes = grown;
	}
}
