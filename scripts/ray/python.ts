import { join } from "node:path";
import { testPython } from "../python-environment.ts";
import { root } from "../run.ts";

/** Has Ray, and the bridge as nodes of a cluster need it; `undefined` where they cannot be installed. */
export function clusterPython(): string | undefined {
	return testPython("ray", [
		"--editable",
		join(root, "python"),
		"cryptography==50.0.2",
		"numpy==2.4.6",
		"ray==2.60.0",
	]);
}
