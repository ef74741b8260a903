import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";

/** One file of the page. */
export interface PageFile {
	readonly type: string;
	readonly body: Uint8Array;
}

/** The files of the page by their path in the URL. */
export type PageFiles = ReadonlyMap<string, PageFile>;

const TYPES: Readonly<Record<string, string>> = {
	".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
};

/** Reads the page that the build made. Files of other types are not served. */
export function readPage(directory: string): PageFiles {
	const files = readdirSync(directory).flatMap((name) => {
		const type = TYPES[extname(name)];
		if (type === undefined) return [];
		const path = name === "index.html" ? "/" : `/${name}`;
		return [
			[path, { type, body: readFileSync(join(directory, name)) }],
		] as const;
	});
	return new Map(files);
}
