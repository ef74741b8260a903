/** The least number of bytes that a chunk counts: an object costs more than its image. */
const LEAST_COUNTED_BYTES = 256;

/** How far a worker may send ahead of the consumer. */
export interface StreamCredit {
	/** So many chunks. */
	readonly chunks: number;
	/** Allows more, while all chunks in transit have fewer bytes than this together; 0: never. */
	readonly smallBytes: number;
}

/** The credit of one stream. */
export class CreditWindow {
	readonly credit: StreamCredit;
	/** The chunks that arrived and were not granted again. */
	private outChunks = 0;
	private outBytes = 0;
	/** The chunks that the consumer took since the last grant. */
	private takenChunks = 0;
	private takenBytes = 0;

	constructor(credit: StreamCredit) {
		this.credit = credit;
	}

	/** A chunk arrived; false when the worker had no credit for it. */
	arrive(bytes: number): boolean {
		const { chunks, smallBytes } = this.credit;
		if (this.outChunks >= chunks && this.outBytes >= smallBytes) return false;
		this.outChunks++;
		this.outBytes += countedBytes(bytes);
		return true;
	}

	/** The consumer took a chunk; returns how many more to allow now. Half a window at a time, to save frames. */
	take(bytes: number): number {
		const { chunks, smallBytes } = this.credit;
		this.takenChunks++;
		this.takenBytes += countedBytes(bytes);
		if (
			this.takenChunks < Math.max(1, Math.floor(chunks / 2)) ||
			this.takenBytes < smallBytes / 2
		)
			return 0;
		const grant = this.takenChunks;
		this.outChunks -= grant;
		this.outBytes -= this.takenBytes;
		this.takenChunks = 0;
		this.takenBytes = 0;
		return grant;
	}
}

/** The size that a chunk or an item counts. */
export function countedBytes(bytes: number): number {
	return Math.max(bytes, LEAST_COUNTED_BYTES);
}
