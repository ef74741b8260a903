import { join } from "node:path";
import { testPython } from "../../../scripts/python-environment.ts";

/** Has FastAPI and uvicorn; `undefined` where they cannot be installed. */
export const python: string | undefined = testPython("fastapi", [
	"fastapi==0.165.0",
	"uvicorn==0.54.0",
]);

/** For titles of tests that are skipped without them. */
export const needsPython: string =
	python === undefined ? " (skipped: FastAPI could not be installed)" : "";

/** The command of a server of programs/tools.py. */
export function uvicorn(...args: readonly string[]): readonly string[] {
	const programs = join(import.meta.dirname, "programs");
	return [
		...[python ?? "python3", "-m", "uvicorn", "tools:app"],
		...[
			"--app-dir",
			programs,
			"--no-access-log",
			"--timeout-graceful-shutdown",
			"1",
			...args,
		],
	];
}
