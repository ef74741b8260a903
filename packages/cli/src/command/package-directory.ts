import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The path of a directory that is installed with this package. */
export function packageDirectory(name: string): string {
	const manifest = createRequire(import.meta.url).resolve(
		"@snakepit/cli/package.json",
	);
	return join(dirname(manifest), name);
}
