import {
	closeSync,
	constants,
	fstatSync,
	openSync,
	readSync,
	unlinkSync,
} from "node:fs";

/** Nobody is waited for at a pipe that has the name of a file. */
const OPEN = constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Opens a file that the worker made, and removes it.
 *
 * @throws Error when there is none, or it is no file.
 */
export function openReceived(path: string): {
	readonly file: number;
	readonly bytes: number;
} {
	const file = openSync(path, OPEN);
	try {
		unlinkSync(path);
		const stats = fstatSync(file);
		if (!stats.isFile()) throw new Error("an attachment that is no file");
		return { file, bytes: stats.size };
	} catch (error) {
		closeSync(file);
		throw error;
	}
}

/**
 * Reads so many bytes into memory of their own.
 *
 * @throws Error when there are fewer.
 */
export function readBytes(file: number, begin: number, size: number): Buffer {
	const bytes = Buffer.allocUnsafeSlow(size);
	let at = 0;
	while (at < size) {
		const read = readSync(file, bytes, at, size - at, begin + at);
		if (read === 0) throw new Error("an attachment that was cut short");
		at += read;
	}
	return bytes;
}
