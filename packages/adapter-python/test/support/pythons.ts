import { fileURLToPath } from "node:url";

/** The development environment: the bridge from this repository, and numpy. */
export const PYTHON: string = fileURLToPath(
	new URL("../../../../python/.venv/bin/python", import.meta.url),
);

/** The bridge as it is in this repository. */
export const BRIDGE: string = fileURLToPath(
	new URL("../../../../python/src/snakepit_bridge", import.meta.url),
);

/** A file of tools beside the tests. */
export function toolsFile(name: string): string {
	return fileURLToPath(new URL(`../tools/${name}`, import.meta.url));
}
