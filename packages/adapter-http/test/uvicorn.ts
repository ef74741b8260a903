import { join } from "node:path";
import { testPython } from "../../../scripts/python-environment.ts";
import { isThorough } from "../../../scripts/test-effort.ts";
import type { HttpOptions } from "../src/index.ts";

/** Has FastAPI and uvicorn; `undefined` in `test`, and where they cannot be installed. */
export const python: string | undefined = isThorough()
	? testPython({
			name: "fastapi",
			requirements: ["fastapi==0.165.0", "uvicorn==0.54.0"],
		})
	: undefined;

/** For titles of tests that are skipped without them. */
export const needsPython: string =
	python === undefined
		? isThorough()
			? " (skipped: FastAPI could not be installed)"
			: " (skipped: runs in `check`)"
		: "";

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

/** FastAPI behind uvicorn, on a Unix socket. */
export const fastApi: HttpOptions = {
	command: uvicorn("--uds", "{socket}"),
	ready: "/health",
	health: "/health",
};
