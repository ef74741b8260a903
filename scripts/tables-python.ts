import { join } from "node:path";
import { type TestEnvironment, testPython } from "./python-environment.ts";
import { root } from "./run.ts";

/** Has the bridge with gRPC, pandas, polars, pyarrow, and a small library of tensors. */
export const TABLES: TestEnvironment = {
	name: "tables",
	requirements: [
		"--editable",
		`${join(root, "python")}[grpc]`,
		"array-api-strict==2.6.1",
		"numpy==2.4.6",
		"pandas==3.1.1",
		"polars==2.1.0",
		"pyarrow==26.0.1",
	],
};

/** Returns the interpreter of that environment; `undefined` where it cannot be made. */
export function tablesPython(): string | undefined {
	return testPython(TABLES);
}
