import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "vitest";
import type { InspectedHost } from "../dash/inspected-host.ts";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";

/** Of a test that looks many times, with other tests beside it. */
export const DEADLINE_MS = 180_000;

/** How a command ended, and what it printed. */
export interface Shown {
	readonly status: number;
	/** The first line. */
	readonly first: string;
	readonly stdout: string;
}

/** Runs a command to its end. It has nothing to say on standard error. */
export async function snakepit(
	args: readonly string[],
	env: NodeJS.ProcessEnv = {},
): Promise<Shown> {
	const [program, ...before] = SNAKEPIT_IN_NODE;
	const options = { env: { ...process.env, ...env } };
	const ended = await promisify(execFile)(
		program,
		[...before, ...args],
		options,
	).then(
		({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
		({ code, stdout, stderr }) => ({ status: code as number, stdout, stderr }),
	);
	expect(ended.stderr).toBe("");
	const [first = ""] = ended.stdout.split("\n");
	return { status: ended.status, first, stdout: ended.stdout };
}

/** `snakepit ps` of the program's data directory. */
export const ps = (
	{ dataDir }: Pick<InspectedHost, "dataDir">,
	...more: readonly string[]
): Promise<Shown> => snakepit(["ps", "--data-dir", dataDir, ...more]);

/** Looks until the first line says this. */
export function psSays(
	host: Pick<InspectedHost, "dataDir">,
	first: RegExp,
): Promise<Shown> {
	return until(
		() => ps(host),
		(shown) => first.test(shown.first),
	);
}

/** Looks until it is so. */
export async function until<Seen>(
	look: () => Promise<Seen>,
	isSo: (seen: Seen) => boolean,
): Promise<Seen> {
	const deadline = performance.now() + DEADLINE_MS / 2;
	for (;;) {
		const seen = await look();
		if (isSo(seen)) return seen;
		if (performance.now() > deadline)
			throw new Error(`It is not so: ${JSON.stringify(seen, undefined, 2)}`);
	}
}
