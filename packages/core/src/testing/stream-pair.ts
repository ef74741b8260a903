import { Duplex } from "node:stream";

/**
 * One end of a socket pair in memory. What is written here is read there, with
 * back-pressure; an ended or destroyed end is end-of-file there; writing to an
 * end that is gone fails as `EPIPE`.
 */
class PairEnd extends Duplex {
	#peer: PairEnd | undefined;
	#resume: (() => void) | undefined;

	static pair(): readonly [Duplex, Duplex] {
		const [a, b] = [new PairEnd(), new PairEnd()];
		a.#peer = b;
		b.#peer = a;
		return [a, b];
	}

	override _read(): void {
		const resume = this.#resume;
		this.#resume = undefined;
		resume?.();
	}

	override _write(
		chunk: Buffer,
		_encoding: BufferEncoding,
		done: (error?: Error | null) => void,
	): void {
		const peer = this.#peer;
		if (!peer || peer.destroyed)
			done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
		else if (peer.push(chunk)) done();
		else peer.#resume = done;
	}

	override _final(done: (error?: Error | null) => void): void {
		this.#endPeer();
		done();
	}

	override _destroy(
		error: Error | null,
		done: (error?: Error | null) => void,
	): void {
		const resume = this.#resume;
		this.#resume = undefined;
		resume?.();
		if (!this.writableFinished) this.#endPeer();
		done(error);
	}

	#endPeer(): void {
		if (this.#peer && !this.#peer.destroyed && !this.#peer.readableEnded)
			this.#peer.push(null);
	}
}

/** Two connected streams in memory: a socket pair. */
export function streamPair(): readonly [Duplex, Duplex] {
	return PairEnd.pair();
}
