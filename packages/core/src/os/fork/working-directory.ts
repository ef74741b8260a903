import { statSync } from "node:fs";
import { isAbsolute } from "node:path";

/** Where a program begins: what forks it has a directory of its own, so that it needs a path. */
export function workingDirectory(cwd: string | undefined): string {
	if (cwd !== undefined && isAbsolute(cwd)) return cwd;
	return cwd === undefined ? ownDirectory() : `${ownDirectory()}/${cwd}`;
}

/** A directory that was removed, or replaced at its path, is still this program's; then only the system names it. */
function ownDirectory(): string {
	try {
		const path = process.cwd(); // As Node remembers it.
		const [there, here] = [statSync(path), statSync(".")];
		if (there.dev === here.dev && there.ino === here.ino) return path;
	} catch {
		// Removed.
	}
	return `/proc/${process.pid}/cwd`;
}
