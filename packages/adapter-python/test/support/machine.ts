import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chooseInterpreter } from "../../src/interpreter/choose-interpreter.ts";
import type { Choice } from "../../src/interpreter/interpreter.ts";
import { usualSources } from "../../src/interpreter/interpreter-sources.ts";
import { scratch } from "./fake-python.ts";

export interface Machine {
	readonly root: string;
	readonly cwd: string;
	/** The directory of `PATH` that is not the system's. */
	readonly bin: string;
	readonly env: Record<string, string>;
	readonly choose: () => Promise<Choice>;
}

/** A machine with nothing on it: a working directory inside a project, and one directory in PATH. */
export function machine(): Machine {
	const root = scratch();
	const cwd = join(root, "project/deep/inside");
	const bin = join(root, "bin");
	mkdirSync(cwd, { recursive: true });
	mkdirSync(bin);
	const env: Record<string, string> = { PATH: `${bin}:/bin` };
	const choose = () => {
		const setting = { env, cwd };
		return chooseInterpreter(
			usualSources(setting),
			setting,
			new AbortController().signal,
		);
	};
	return { root, cwd, bin, env, choose };
}
