import { connect, type Socket } from "node:net";
import type { ProcessSpec } from "../../contract/world.ts";
import { channelNumber } from "../launcher.ts";

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
export function canBeGiven(spec: ProcessSpec, highest: number): boolean {
	const given = [...(spec.descriptors?.values() ?? [])];
	return (
		given.every((each) => each === "stream" || !("fd" in each)) &&
		Math.max(...connectedDescriptors(spec)) <= highest
	);
}

function streamNumbers({ descriptors = new Map() }: ProcessSpec): number[] {
	return [...descriptors].flatMap(([fd, what]) =>
		what === "stream" ? fd : [],
	);
}

/** This side of the connections of one start, from the first byte, which says what they are for. */
export class DescriptorConnections {
	readonly #sockets = new Map<number, Socket>();
	readonly #failed: (error: NodeJS.ErrnoException) => void;

	/** @param failed called when one of them cannot be made. */
	constructor(
		path: string,
		start: number,
		numbers: readonly number[],
		failed: (error: NodeJS.ErrnoException) => void,
	) {
		this.#failed = failed;
		for (const number of numbers) {
			const socket = connect({ path });
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
