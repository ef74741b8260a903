import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What this process holds in memory, whatever the collector has not come to yet. */
export function heldBytes(): number {
	setFlagsFromString("--expose-gc");
	const collect: () => void = runInNewContext("gc");
	collect();
	// Buffers are freed beside the program; the next collection waits for that.
	collect();
	const { heapUsed, external } = process.memoryUsage();
	return heapUsed + external;
}
