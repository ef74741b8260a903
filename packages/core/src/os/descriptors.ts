import { AsyncResource } from "node:async_hooks";
import { closeSync, openSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { withFallback } from "../contract/thrown.ts";
import type { ProcessSpec } from "../contract/world.ts";
import { channelNumber } from "./launcher.ts";
import { outOfDescriptors } from "./spawn-failure.ts";

/** A look needs one. Another thread can take what is given up for it: then the next one is. */
const KEPT = 4;

/**
 * Descriptors that are kept for looks at the process table: a program that has
 * used up its own must not take its workers for gone.
 */
export class DescriptorReserve {
	readonly #kept: number[] = [];

	constructor() {
		this.#fill();
	}

	/**
	 * Looks, with the reserve where there is no other descriptor. The look must be
	 * synchronous and hold one descriptor at a time.
	 *
	 * @throws what the look throws, for another reason than a lack of descriptors too.
	 */
	use<Result>(look: () => Result): Result {
		// What was taken may be free again.
		this.#fill();
		try {
			while (true)
				try {
					return look();
				} catch (error) {
					const descriptor = this.#kept.at(-1);
					if (!outOfDescriptors(error) || descriptor === undefined) throw error;
					closeSync(descriptor);
					this.#kept.pop();
				}
		} finally {
			this.#fill();
		}
	}

	#fill(): void {
		while (this.#kept.length < KEPT) {
			const descriptor = hold();
			if (descriptor === undefined) return;
			this.#kept.push(descriptor);
		}
	}
}

function hold(): number | undefined {
	// Fallback: taken meanwhile by another thread.
	return withFallback(undefined, () => openSync("/dev/null", "r"));
}

/**
 * Checks that this program has the descriptors that `spawn` needs for so many pipes, right before it is called. Where
 * some of them are missing, Node keeps the others for ever, and has no streams for the child.
 *
 * @throws Error `EMFILE` or `ENFILE`.
 */
export function requireToSpawn(pipes: number): void {
	const held: number[] = [];
	try {
		// Each pipe has two ends, and by one more Node learns whether the program is executed.
		while (held.length < 2 * (pipes + 1)) held.push(openSync("/dev/null", "r"));
	} finally {
		for (const descriptor of held) closeSync(descriptor);
	}
}

/** This end of each stream that a program was given. @param at the connection to one of its descriptors. */
export function inheritedStreams(
	{ descriptors }: ProcessSpec,
	at: (fd: number) => Duplex | undefined,
): ReadonlyMap<number, Duplex> {
	const streams = new Map<number, Duplex>();
	for (const [fd, what] of descriptors ?? []) {
		const stream = at(fd);
		if (what !== "stream" || stream === undefined) continue;
		stream.on("error", () => {}); // Its end follows.
		streams.set(fd, stream);
	}
	return streams;
}

/** Which descriptors of a program are connections, besides an empty standard input. */
export function connectedDescriptors(spec: ProcessSpec): readonly number[] {
	const channel = channelNumber(spec);
	return [
		...(spec.stdin === "pipe" ? [0] : []),
		...[1, 2],
		...streamNumbers(spec),
		...(channel === undefined ? [] : [channel]),
	];
}

/** A connection can become any low descriptor of a worker; a listener of this program cannot reach it. */
export function canBeInherited(spec: ProcessSpec, highest: number): boolean {
	const descriptors = [...(spec.descriptors?.values() ?? [])];
	return (
		descriptors.every((each) => each === "stream" || !("fd" in each)) &&
		Math.max(...connectedDescriptors(spec)) <= highest
	);
}

function streamNumbers({ descriptors = new Map() }: ProcessSpec): number[] {
	return [...descriptors].flatMap(([fd, what]) =>
		what === "stream" ? fd : [],
	);
}

/** What arrives is reported as if the connection were made as usual: listeners that hear of it are observed. */
function connectUnobserved(
	path: string,
	unobserved: NonNullable<ProcessSpec["unobserved"]>,
): Socket {
	const socket = unobserved(() => connect({ path }));
	socket.emit = AsyncResource.bind(
		socket.emit.bind(socket),
	) as typeof socket.emit;
	return socket;
}

/** This side of the connections of one start, from the first byte, which says what they are for. */
export class DescriptorConnections {
	readonly #sockets = new Map<number, Socket>();
	readonly #failed: (error: NodeJS.ErrnoException) => void;

	/**
	 * @param failed called when one of them cannot be made.
	 * @param unobserved as in {@link ProcessSpec}.
	 */
	constructor(
		path: string,
		start: number,
		numbers: readonly number[],
		failed: (error: NodeJS.ErrnoException) => void,
		unobserved?: ProcessSpec["unobserved"],
	) {
		this.#failed = failed;
		for (const number of numbers) {
			const socket =
				unobserved === undefined
					? connect({ path })
					: connectUnobserved(path, unobserved);
			// Otherwise Node reads from it: what a worker does to its standard input does not matter.
			if (number === 0) socket.pause();
			socket.on("error", failed);
			const header = Buffer.alloc(5);
			header.writeUInt32BE(start);
			header.writeUInt8(number, 4);
			socket.write(header);
			this.#sockets.set(number, socket);
		}
	}

	/** The process has them now: from here on they behave like the pipes of a child. */
	release(): ReadonlyMap<number, Socket> {
		for (const socket of this.#sockets.values()) {
			socket.off("error", this.#failed);
			socket.unref();
		}
		return this.#sockets;
	}

	/** The start has failed: later errors do not matter. */
	destroy(): void {
		for (const socket of this.#sockets.values()) socket.destroy();
	}
}
