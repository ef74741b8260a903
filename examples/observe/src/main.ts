import { join } from "node:path";
import { parseArgs } from "node:util";
import { compileViewer } from "./compile-viewer.ts";
import { observe } from "./observe.ts";

const HELP = `Runs the demo with a viewer beside it, and prints the URL that shows its traces,
metrics and logs, until Ctrl-C.

  npx pnpm@12 demo:observe [flags]

  --plain   plain lines, also in a terminal
  --help    this text

The viewer is compiled the first time, which takes minutes, and needs Go 1.26
and a C compiler.

Exit code: 0 after Ctrl-C, 2 for a wrong flag, 1 when the demo or the viewer
failed.
`;

/** The viewer creates its tables first. */
const START_WITHIN_MS = 60_000;
const VIEWER_ENDS_WITHIN_MS = 5_000;
/** Its workers take two seconds at most, a viewer that does not answer one. */
const DEMO_ENDS_WITHIN_MS = 8_000;

try {
	const { values } = parseArgs({
		// `pnpm demo:observe -- --help` passes on the two dashes as well.
		args: process.argv.slice(process.argv[2] === "--" ? 3 : 2),
		options: {
			plain: { type: "boolean" },
			help: { type: "boolean", short: "h" },
		},
	});
	if (values.help) process.stdout.write(HELP);
	else await observeDemo(values.plain ? ["--plain"] : []);
} catch (error) {
	const { code, message } = error as NodeJS.ErrnoException;
	if (!code?.startsWith("ERR_PARSE_ARGS")) throw error;
	// The first sentence names the argument; the rest is about parseArgs.
	const [what = ""] = message.split(". ");
	console.error(`${what.replace(/\.$/, "")}. There are --plain and --help.`);
	process.exitCode = 2;
}

async function observeDemo(flags: readonly string[]): Promise<void> {
	const stop = new AbortController();
	// The first one counts: what it ends has time limits of its own.
	const onSignal = (signal: NodeJS.Signals) => stop.abort(signal);
	const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
	for (const signal of signals) process.on(signal, onSignal);
	// Neither listeners for signals nor an idle pool keep a program alive.
	const alive = setInterval(() => {}, 2 ** 31 - 1);
	const outcome = await observe(
		{
			findViewer: (signal) => compileViewer({ signal }),
			startWithinMs: START_WITHIN_MS,
			endWithinMs: VIEWER_ENDS_WITHIN_MS,
			demo: [
				join(import.meta.dirname, "../../../apps/demo/src/main.ts"),
				...flags,
			],
			demoEndsWithinMs: DEMO_ENDS_WITHIN_MS,
			print: console.log,
		},
		stop.signal,
	);
	clearInterval(alive);
	for (const signal of signals) process.off(signal, onSignal);
	if (typeof outcome === "number") process.exitCode = outcome;
	else process.kill(process.pid, outcome);
}
