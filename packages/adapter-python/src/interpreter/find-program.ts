import { constants, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { reach } from "./reach.ts";

/** A program in PATH, or why there is none. */
export type FoundProgram =
	| { readonly kind: "found"; readonly path: string }
	| { readonly kind: "none"; readonly why: string };

/** Finds a program as the system would: the first file of that name in PATH that this user may execute. */
export function findProgram(
	name: string,
	path: string | undefined,
	cwd: string,
): FoundProgram {
	const closed: string[] = [];
	for (const directory of (path ?? "").split(delimiter)) {
		// An empty entry is the working directory.
		const candidate = resolve(cwd, directory, name);
		const found = reach(candidate, constants.X_OK);
		if (found.kind === "forbidden") closed.push(candidate);
		if (found.kind === "reached" && statSync(found.path).isFile())
			return { kind: "found", path: candidate };
	}
	const tried =
		closed.length === 0
			? ""
			: `, as this user may not run ${closed.join(", ")}`;
	return {
		kind: "none",
		why:
			path === undefined
				? `${name} was not found, because PATH is not set`
				: `${name} is not in PATH (${path})${tried}`,
	};
}
