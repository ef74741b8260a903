import { existsSync } from "node:fs";
import { join } from "node:path";
import { type TestEnvironment, testPython } from "../python-environment.ts";
import { root } from "../run.ts";
import { isInside, namespaceUnavailable } from "./namespace.ts";

/** Has Ray, and the bridge as nodes of a cluster need it. */
export const CLUSTER: TestEnvironment = {
	name: "ray",
	requirements: [
		...["--editable", join(root, "python")],
		...["cryptography==50.0.2", "numpy==2.4.6", "ray==2.60.0"],
	],
};

/** Returns the interpreter of that environment; `undefined` where it cannot be made. */
export function clusterPython(): string | undefined {
	if (!isInside()) return testPython(CLUSTER);
	// In the namespace there is no network: it was made before, or not at all.
	const python = join(root, "node_modules/.cache/python/ray/bin/python");
	return existsSync(python) ? python : undefined;
}

/** Why there can be no Ray cluster here; `undefined` when there can. */
export function clusterUnavailable(): string | undefined {
	return clusterPython() === undefined
		? "Ray could not be installed"
		: namespaceUnavailable();
}
