import { rmSync, unlinkSync } from "node:fs";

/** Returns whether nothing is there any more. To remove a directory takes a descriptor, to remove a file takes none. */
export function removePath(path: string): boolean {
	try {
		unlinkSync(path);
		return true;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
	}
	try {
		rmSync(path, { recursive: true, force: true });
		return true;
	} catch {
		return false;
	}
}
