import { join } from "node:path";
import { testPython } from "./python-environment.ts";
import { root } from "./run.ts";

/** Has the bridge with gRPC, pandas, polars, pyarrow, and a small library of tensors; `undefined` where they cannot be installed. */
export function tablesPython(): string | undefined {
	return testPython("tables", [
		"--editable",
		`${join(root, "python")}[grpc]`,
		"array-api-strict==2.6.1",
		"numpy==2.4.6",
		"pandas==3.1.1",
		"polars==2.1.0",
		"pyarrow==26.0.1",
	]);
}
