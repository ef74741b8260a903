import { existsSync } from "node:fs";
import { join } from "node:path";
import { testPython } from "../python-environment.ts";
import { root } from "../run.ts";
import { isInside } from "./namespace.ts";

/**
 * Returns the interpreter of an environment that has Ray, the bridge as nodes of a cluster need it, and `more`;
 * `undefined` where they cannot be installed.
 */
export function clusterPython(
	name = "ray",
	more: readonly string[] = [],
): string | undefined {
	// In the namespace there is no network: it is made before, or not at all.
	const made = join(root, "node_modules/.cache/python", name, "bin/python");
	if (isInside()) return existsSync(made) ? made : undefined;
	return testPython(name, [
		...["--editable", join(root, "python")],
		...["cryptography==50.0.2", "numpy==2.4.6", "ray==2.60.0", ...more],
	]);
}
