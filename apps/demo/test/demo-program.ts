import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

const demo = join(import.meta.dirname, "../src/main.ts");

/** The first run on a machine downloads scikit-learn. */
export const FIRST_RUN_MS = 300_000;

/** A run of the demo that has ended. */
export interface Ended {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
	readonly output: string;
	readonly errors: string;
}

/** Gets all output so far whenever there is more. */
type OnOutput = (output: string, child: ChildProcess) => void;

/**
 * Runs the demo as a user does, without a terminal.
 *
 * @param state - The directory of its ledger.
 */
export async function runDemo(
	state: string,
	flags: readonly string[],
	onOutput: OnOutput = () => {},
): Promise<Ended> {
	const child = spawn(
		process.execPath,
		["--conditions=snakepit-source", demo, ...flags],
		{
			stdio: ["ignore", "pipe", "pipe"],
			env: {
				...process.env,
				XDG_STATE_HOME: state,
				// It must have no effect: a pipe is not a terminal.
				FORCE_COLOR: "1",
				// Node prints a warning where both are set.
				NO_COLOR: undefined,
				// No browser is opened.
				...{ DISPLAY: undefined, WAYLAND_DISPLAY: undefined },
			},
		},
	);
	let output = "";
	let errors = "";
	child.stdout.setEncoding("utf8").on("data", (text: string) => {
		output += text;
		onOutput(output, child);
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

/** How long something was left after the host was killed: `--kill-host` prints it. */
export function goneAfterMs(output: string): number {
	const [, value, unit] =
		/^left +0 processes, by group or marker, after ([\d.]+) (ms|s);/m.exec(
			output,
		) ?? [];
	if (value === undefined) throw new Error(`Something is left:\n${output}`);
	return Number(value) * (unit === "s" ? 1_000 : 1);
}
