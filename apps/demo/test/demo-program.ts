import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

const program = join(import.meta.dirname, "../src/main.ts");

/** The first run on a machine makes a Python environment with scikit-learn: a download. */
export const FIRST_RUN_MS = 300_000;

/** A run of the demo that is over. */
export interface Ended {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
	readonly output: string;
	readonly errors: string;
}

/**
 * Runs the demo as a user does, without a terminal.
 *
 * @param state - Where its ledger is.
 * @param heard - Gets all that it has said whenever it says more.
 */
export async function runDemo(
	state: string,
	flags: readonly string[],
	heard: (output: string, child: ChildProcess) => void = () => {},
): Promise<Ended> {
	const child = spawn(
		process.execPath,
		["--conditions=snakepit-source", program, ...flags],
		{
			stdio: ["ignore", "pipe", "pipe"],
			// FORCE_COLOR must not matter: a pipe is no terminal.
			env: { ...process.env, XDG_STATE_HOME: state, FORCE_COLOR: "1" },
		},
	);
	let output = "";
	let errors = "";
	child.stdout.setEncoding("utf8").on("data", (text: string) => {
		output += text;
		heard(output, child);
	});
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		errors += text;
	});
	return new Promise((resolve, reject) => {
		child.once("error", reject);
		child.once("close", (code, signal) =>
			resolve({ code, signal, output, errors }),
		);
	});
}
