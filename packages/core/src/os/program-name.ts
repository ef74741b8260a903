import { basename } from "node:path";

/** The file name of this program, or of Node where it has none. */
export function programName(): string {
	return basename(process.argv[1] ?? process.execPath);
}
