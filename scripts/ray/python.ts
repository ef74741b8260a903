import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestEnvironment, testPython } from "../python-environment.ts";
import { root } from "../run.ts";
import { isInside } from "./namespace.ts";

/** Has Ray, the bridge as nodes of a cluster need it, and `more`. */
export const clusterEnvironment = (
	name = "ray",
	more: readonly string[] = [],
): TestEnvironment => ({
	name,
	requirements: [
		...["--editable", join(root, "python")],
		...["cryptography==50.0.2", "numpy==2.4.6", "ray==2.60.0", ...more],
	],
});

/** Returns the interpreter of that environment; `undefined` where it cannot be made. */
export function clusterPython(
	name = "ray",
	more: readonly string[] = [],
): string | undefined {
	// In the namespace there is no network: it is made before, or not at all.
	const interpreter = join(
		root,
		"node_modules/.cache/python",
		name,
		"bin/python",
	);
	if (isInside()) return existsSync(interpreter) ? interpreter : undefined;
	return testPython(clusterEnvironment(name, more));
}
