import {
	chmodSync,
	mkdirSync,
	mkdtempSync,
	realpathSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { VERSION } from "../../src/gen/version.ts";
import type { InterpreterFacts } from "../../src/interpreter/interpreter.ts";

/** A directory that goes with the test; without a link in its path, as messages name it. */
export function scratch(): string {
	const directory = realpathSync(mkdtempSync(join(tmpdir(), "snp-")));
	onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
	return directory;
}

/** A program that prints one text and ends. */
export function programThatPrints(
	path: string,
	text: string,
	code = 0,
): string {
	return programThatRuns(path, `cat <<'END'\n${text}\nEND\nexit ${code}`);
}

/** A program that runs these lines of a shell. */
export function programThatRuns(path: string, lines: string): string {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, `#!/bin/sh\n${lines}\n`);
	chmodSync(path, 0o755);
	return path;
}

/** A program that answers the probe as a Python of this version does. */
export function fakePython(
	path: string,
	version: string,
	facts: Partial<Omit<InterpreterFacts, "version">> = {},
): string {
	const said = {
		version: version.split(".").map(Number),
		executable: path,
		prefix: dirname(dirname(path)),
		bridge: VERSION,
		unreadable: [],
		environment: {},
		...facts,
	};
	return programThatPrints(
		path,
		`a start-up file prints this\n${JSON.stringify(said)}`,
	);
}
