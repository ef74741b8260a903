/** So much is reserved at once for what is only announced. */
const RESERVED_BYTES = 256 * 1024;

/** Bytes of a known number that arrive in pieces, in memory of their own. */
export class Collected {
	private readonly length: number;
	private readonly parts: Buffer[] = [];
	/** How much of the last part is there. */
	private filled = 0;
	/** How much is there in all. */
	private arrived = 0;

	constructor(length: number) {
		this.length = length;
	}

	/** How many have not arrived. */
	get missing(): number {
		return this.length - this.arrived;
	}

	/** Copies a piece, which has no more than what is missing. */
	add(piece: Uint8Array): void {
		for (let at = 0; at < piece.length; ) {
			const part = this.room();
			const end = Math.min(piece.length, at + part.length - this.filled);
			part.set(piece.subarray(at, end), this.filled);
			this.filled += end - at;
			this.arrived += end - at;
			at = end;
		}
	}

	/** All of it, when nothing is missing. */
	whole(): Uint8Array {
		const [first = Buffer.alloc(0)] = this.parts;
		return this.parts.length > 1
			? Buffer.concat(this.parts, this.length)
			: first;
	}

	private room(): Buffer {
		const last = this.parts.at(-1);
		if (last !== undefined && this.filled < last.length) return last;
		const part = Buffer.allocUnsafeSlow(Math.min(this.missing, RESERVED_BYTES));
		this.parts.push(part);
		this.filled = 0;
		return part;
	}
}
