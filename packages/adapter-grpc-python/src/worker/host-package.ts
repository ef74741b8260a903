import { readFileSync } from "node:fs";

/** The bridge protocols that this package speaks, both included. */
export const PROTOCOL = { min: 1, max: 1 } as const;

/** Name and version of this package, for messages on the other side. */
export function hostPackage(): string {
	const name = "@snakepit/adapter-grpc-python";
	try {
		const text = readFileSync(
			new URL("../../package.json", import.meta.url),
			"utf8",
		);
		return `${name} ${(JSON.parse(text) as { version: string }).version}`;
	} catch {
		return name; // Bundled into something else: then the name has to do.
	}
}
