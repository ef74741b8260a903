import { getHeapSpaceStatistics } from "node:v8";

/** What of V8's heap is in use, in bytes. */
export interface HeapBytes {
	/** What the program made: objects, arrays, texts. */
	readonly objects: number;
	/** What V8 made of the program: bytecode, machine code and what they refer to. */
	readonly code: number;
}

/** Reads the spaces of V8's heap; those that came with Node's snapshot are left out. */
export function heapBytes(): HeapBytes {
	let objects = 0;
	let code = 0;
	for (const {
		space_name: name,
		space_used_size,
	} of getHeapSpaceStatistics()) {
		if (name.startsWith("read_only")) continue;
		if (/code|trusted/.test(name)) code += space_used_size;
		else objects += space_used_size;
	}
	return { objects, code };
}
