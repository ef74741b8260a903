import type { Duplex } from "node:stream";
import type { ProcessSpec } from "../contract/world.ts";

/** This end of each stream that a program was given. @param at the connection to one of its descriptors. */
export function givenStreams(
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
