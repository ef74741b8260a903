import { join } from "node:path";
import {
	type PythonEnvironment,
	pythonEnvironment,
} from "@snakepit/adapter-grpc-python";
import { duration } from "./figures.ts";

/** The bridge of this very repository, not the one of the package index. */
const BRIDGE = join(import.meta.dirname, "../../../python");

/** The Python of the workers, with what else they need. */
export function digitsEnvironment(
	also: readonly string[] = [],
): PythonEnvironment {
	return pythonEnvironment({
		requirements: ["scikit-learn>=1.5,<2", BRIDGE, ...also],
	});
}

/** What takes longer than this is most likely made, and not found. */
const PATIENCE_MS = 1_000;

/** Makes the environment, or finds it made; a pool does so by itself, but does not tell that it takes a while. */
export async function makeEnvironment(
	environment: PythonEnvironment,
	say: (line: string) => void,
): Promise<void> {
	const explain = setTimeout(() => {
		say(
			"preparing a Python environment with scikit-learn: about a minute the first time",
		);
	}, PATIENCE_MS);
	try {
		const begunMs = performance.now();
		const { directory, reused } = await environment.make();
		if (!reused)
			say(`made ${directory} in ${duration(performance.now() - begunMs)}`);
	} finally {
		clearTimeout(explain);
	}
}
