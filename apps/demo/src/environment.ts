import { join } from "node:path";
import {
	type PythonEnvironment,
	pythonEnvironment,
} from "@snakepit/adapter-grpc-python";
import { duration } from "./figures.ts";

/** The bridge of this repository, not the one on PyPI. */
const BRIDGE = join(import.meta.dirname, "../../../python");

/** The Python environment of the workers: scikit-learn, the bridge, and `more` requirements. */
export function digitsEnvironment(
	more: readonly string[] = [],
): PythonEnvironment {
	return pythonEnvironment({
		requirements: ["scikit-learn>=1.5,<2", `${BRIDGE}[grpc]`, ...more],
	});
}

/** Makes the environment and prints that it does; a pool would make it by itself, in silence. */
export async function makeEnvironment(
	environment: PythonEnvironment,
	print: (line: string) => void,
): Promise<void> {
	const explain = setTimeout(() => {
		print(
			"preparing a Python environment with scikit-learn: about a minute the first time",
		);
	}, 1_000);
	try {
		const begunMs = performance.now();
		const { directory, reused } = await environment.make();
		const tookMs = performance.now() - begunMs;
		if (!reused) print(`made ${directory} in ${duration(tookMs)}`);
	} finally {
		clearTimeout(explain);
	}
}
