import type { SidebandPort } from "../channel/frame-channel.ts";
import type { Segment, SegmentStore } from "./segments.ts";

/** The data that a relay has sent of one file, directly before the frame that names it. */
interface Arrived {
	readonly name: string;
	readonly offset: number;
	readonly bytes: Uint8Array;
}

/**
 * The files of a worker on another machine: a relay there has them, and the large parts of values travel beside the
 * frames. Writing sends the bytes; the bytes to read have arrived just before the frame.
 */
export class RelayedSegments implements SegmentStore {
	#port: SidebandPort | undefined;
	#arrived: Arrived | undefined;

	/** Sends on this channel from now on. */
	attach(port: SidebandPort): void {
		this.#port = port;
	}

	/** Takes bytes of a file that have arrived. The frame that names them is the next. */
	arrived(name: string, offset: number, bytes: Uint8Array): void {
		this.#arrived = { name, offset, bytes };
	}

	make(name: string): Segment {
		return new RelayedSegment(name, this);
	}

	received(name: string): Segment {
		if (this.#arrived?.name !== name)
			throw new Error(`an attachment in ${name}, which did not arrive`);
		return new RelayedSegment(name, this);
	}

	discard(name: string): void {
		this.#arrived = undefined;
		this.#port?.closed(name);
	}

	/** For one of its segments: takes the bytes that have arrived. */
	taken(name: string, offset: number, size: number): Uint8Array {
		const arrived = this.#arrived;
		this.#arrived = undefined;
		if (arrived?.name !== name || arrived.offset !== offset)
			throw new Error(`an attachment in ${name}, which did not arrive`);
		if (arrived.bytes.length !== size)
			throw new Error(
				`an attachment of ${arrived.bytes.length} bytes where ${size} were announced`,
			);
		return arrived.bytes;
	}

	get port(): SidebandPort {
		if (this.#port !== undefined) return this.#port;
		throw new Error("there is no connection");
	}
}

class RelayedSegment implements Segment {
	readonly name: string;
	largest = 0;
	bytes = 0;
	readonly #store: RelayedSegments;

	constructor(name: string, store: RelayedSegments) {
		this.name = name;
		this.#store = store;
	}

	measure(): void {
		// It is as large as the largest value in it that was sent or has arrived.
	}

	write(parts: readonly Uint8Array[], size: number): void {
		this.#store.port.send(this.name, parts, size);
		this.#grown(size, size);
	}

	read(size: number, offset = 0): Uint8Array {
		const bytes = this.#store.taken(this.name, offset, size);
		this.#grown(size, offset + size);
		return bytes;
	}

	shrink(bytes: number): void {
		this.#store.port.shortened(this.name, bytes);
		this.bytes = bytes;
	}

	close(): void {
		this.#store.port.closed(this.name);
	}

	#grown(value: number, end: number): void {
		this.largest = Math.max(this.largest, value);
		this.bytes = Math.max(this.bytes, end);
	}
}
