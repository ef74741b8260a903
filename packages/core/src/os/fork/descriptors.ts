import { connect, type Socket } from "node:net";
import type { ProcessSpec } from "../../world.ts";
import { channelNumber } from "../launcher.ts";

/** The descriptors of a worker that are connections, with their numbers there. */
export const DESCRIPTOR_NUMBERS = {
	stdin: 0,
	stdout: 1,
	stderr: 2,
	control: 3,
} as const;
export type DescriptorName = keyof typeof DESCRIPTOR_NUMBERS;

/** This side of a worker's descriptors. */
export interface Descriptors {
	readonly stdin: Socket | undefined;
	readonly stdout: Socket;
	readonly stderr: Socket;
	readonly control: Socket | undefined;
}

/** Which descriptors a program gets besides an empty standard input. */
export function descriptorNames(spec: ProcessSpec): readonly DescriptorName[] {
	return [
		...(spec.stdin === "pipe" ? (["stdin"] as const) : []),
		"stdout",
		"stderr",
		...(channelNumber(spec) !== undefined ? (["control"] as const) : []),
	];
}

/** The connections of one start, from the first byte, which says what they are for. */
export class DescriptorConnections {
	readonly #sockets = new Map<DescriptorName, Socket>();
	readonly #failed: (error: NodeJS.ErrnoException) => void;

	/** @param failed called when one of them cannot be made. */
	constructor(
		path: string,
		start: number,
		names: readonly DescriptorName[],
		failed: (error: NodeJS.ErrnoException) => void,
	) {
		this.#failed = failed;
		for (const name of names) {
			const socket = connect({ path });
			// Otherwise Node reads from it: what a worker does to its standard input does not matter.
			if (name === "stdin") socket.pause();
			socket.on("error", failed);
			const header = Buffer.alloc(5);
			header.writeUInt32BE(start);
			header.writeUInt8(DESCRIPTOR_NUMBERS[name], 4);
			socket.write(header);
			this.#sockets.set(name, socket);
		}
	}

	/** The process has them now: from here on they behave like the pipes of a child. */
	release(): Descriptors {
		const part = (name: DescriptorName): Socket => {
			const socket = this.#sockets.get(name);
			if (socket === undefined) throw new Error(`No ${name} was asked for.`);
			return socket;
		};
		for (const socket of this.#sockets.values()) {
			socket.off("error", this.#failed);
			socket.unref();
		}
		return {
			stdin: this.#sockets.get("stdin"),
			stdout: part("stdout"),
			stderr: part("stderr"),
			control: this.#sockets.get("control"),
		};
	}

	/** The start has failed: later errors do not matter. */
	destroy(): void {
		for (const socket of this.#sockets.values()) socket.destroy();
	}
}
