import { closeSync, constants, openSync, unlinkSync } from "node:fs";

/**
 * Opens the file of a page that the worker made (python/src/snakepit_bridge/calls/memory/call_page.py), and removes its name:
 * it is gone when both sides have closed it. `undefined` if there is none.
 */
export function openPage(path: string): number | undefined {
	const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants;
	let file: number | undefined;
	try {
		file = openSync(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
		unlinkSync(path);
		return file;
	} catch {
		if (file !== undefined) closeSync(file);
		return undefined;
	}
}
