import { closeSync, fsync, openSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Waits until a file and its name are on the disk, beside the event loop, and closes the descriptor.
 *
 * Closing any descriptor of a file gives up all locks that this process has on it. It happens in a turn of the event
 * loop, and between two turns the connection of SQLite has none.
 *
 * @throws what the system reports about the file; a directory that cannot be written out by itself is left to the system.
 */
export async function writtenToDisk(
	descriptor: number,
	path: string,
): Promise<void> {
	const name = nameWritten(dirname(path));
	try {
		await written(descriptor);
	} finally {
		closeSync(descriptor);
	}
	await name;
}

async function nameWritten(directory: string): Promise<void> {
	let descriptor: number | undefined;
	try {
		descriptor = openSync(directory, "r");
		await written(descriptor);
	} catch {
		// As SQLite does: some file systems cannot, and none needs it after a crash of this program.
	} finally {
		if (descriptor !== undefined) closeSync(descriptor);
	}
}

function written(descriptor: number): Promise<void> {
	return new Promise((resolve, reject) => {
		fsync(descriptor, (error) =>
			// Node's permission model has no fsync. What the file then lacks after a power failure, no process outlives.
			error !== null && error.code !== "ERR_ACCESS_DENIED"
				? reject(error)
				: resolve(),
		);
	});
}
