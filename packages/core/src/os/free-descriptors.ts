import { closeSync, openSync } from "node:fs";

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
