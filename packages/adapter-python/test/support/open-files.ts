import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** The files of a directory that a process holds open, removed or not, by name; but for the page of calls, which stays. */
export function openFiles(
	directory: string,
	pid: number | "self" = "self",
): readonly string[] {
	const descriptors = `/proc/${pid}/fd`;
	return readdirSync(descriptors).flatMap((descriptor) => {
		try {
			const path = readlinkSync(join(descriptors, descriptor));
			const name = path.slice(directory.length + 1).replace(" (deleted)", "");
			return path.startsWith(`${directory}/`) && name !== "calls" ? [name] : [];
		} catch {
			return []; // The one that the list itself was read with.
		}
	});
}
