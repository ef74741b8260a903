import { join } from "node:path";
import { testPython } from "./python-environment.ts";
import { root } from "./run.ts";

/** Has the bridge, pandas, polars and pyarrow; `undefined` where they cannot be installed. */
export function tablesPython(): string | undefined {
	return testPython("tables", [
		"--editable",
		join(root, "python"),
		"numpy==2.4.6",
		"pandas==3.1.1",
		"polars==2.1.0",
		"pyarrow==26.0.1",
	]);
}
