/** How much memory is reserved for data that is only announced, */
const RESERVED_BYTES = 256 * 1024;
/** or this many times the size of the data that has arrived. Unused memory costs nothing. */
const BELIEVED = 32;

/** A known number of bytes that arrive in pieces, in their own memory. */
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

	/** How many bytes the memory can hold. */
	get reserved(): number {
		return this.bytes.length;
	}

	/** Copies a piece, which is not larger than the missing rest. */
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

	/** The complete bytes. */
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
