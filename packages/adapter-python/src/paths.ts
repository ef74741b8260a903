import { fileURLToPath } from "node:url";
import { absolutePath } from "@snakepit/core/adapter";
import { type Check, nonEmptyText } from "@snakepit/core/options";

/** A path or a `file:` URL. */
export const isPath: Check = (value) =>
	isUrl(value)
		? isFileUrl(value)
			? undefined
			: "must be a file: URL"
		: nonEmptyText(value) === undefined
			? undefined
			: "must be a path or a file: URL";

/** The path, absolute. */
export function absolute(path: string | URL): string {
	return isUrl(path) ? fileURLToPath(path) : absolutePath(path, "The path");
}

/** A URL, or the text of one, as `import.meta.resolve()` gives it. */
export function isUrl(value: unknown): value is string | URL {
	return (
		value instanceof URL ||
		(typeof value === "string" && /^[a-z][a-z\d+.-]*:\/\//i.test(value))
	);
}

function isFileUrl(url: string | URL): boolean {
	try {
		fileURLToPath(url);
		return true;
	} catch {
		return false;
	}
}
