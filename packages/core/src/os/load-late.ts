import { describedRefusal } from "./spawn-failure.ts";

/** More than loading code has open at the same time. */
const ENOUGH = 8;

/**
 * Loads a part of the package when it is first used.
 *
 * Node never loads a module again whose loading has failed. So loading does not
 * begin while there are too few descriptors, and the next call can succeed.
 *
 * @returns the function that loads it; it rejects with StartError `OUT_OF_DESCRIPTORS`.
 */
export function loadLate<Module>(
	load: () => Promise<Module>,
): () => Promise<Module> {
	let loading: Promise<Module> | undefined;
	return async () => {
		if (loading === undefined) {
			await assertEnoughDescriptors();
			loading ??= load();
		}
		return await loading;
	};
}

async function assertEnoughDescriptors(): Promise<void> {
	// At the import of the package it would cost 8 ms and 3 MB.
	const { closeSync, openSync } = await import("node:fs");
	const held: number[] = [];
	try {
		while (held.length < ENOUGH) held.push(openSync("/dev/null", "r"));
	} catch (error) {
		// Node's permission model; what is missing is named when the run is opened.
		if ((error as NodeJS.ErrnoException).code === "ERR_ACCESS_DENIED") return;
		throw describedRefusal(error, "The code of Snakepit cannot be loaded");
	} finally {
		for (const descriptor of held) closeSync(descriptor);
	}
}
