import { join } from "node:path";
import {
	type Installation,
	installedGoProgram,
	installGoProgram,
	versionOf,
} from "../../../scripts/go-program-on-demand.ts";
import { HELP, readArguments } from "./observe/arguments.ts";
import { observe } from "./observe/observe.ts";
import { StopRequest } from "./observe/stop-request.ts";
import { VIEWER } from "./observe/viewer.ts";
import { show } from "./terminal.ts";

/** Its database and some hundred packages, on a slow machine with nothing compiled. */
const INSTALL_WITHIN_MS = 60 * 60_000;
/** It makes its tables first. */
const START_WITHIN_MS = 60_000;
const VIEWER_ENDS_WITHIN_MS = 5_000;
/** Its workers take two seconds at most, a viewer that does not answer five. */
const DEMO_ENDS_WITHIN_MS = 8_000;

const request = readArguments(process.argv.slice(2));
switch (request.kind) {
	case "mistake":
		console.error(request.message);
		process.exitCode = 2;
		break;
	case "help":
		process.stdout.write(HELP);
		break;
	case "observe":
		await observeDemo(request.demoFlags);
}

async function observeDemo(flags: readonly string[]): Promise<void> {
	const stop = new StopRequest();
	const outcome = await observe(
		{
			viewer: findViewer,
			starting: {
				startWithinMs: START_WITHIN_MS,
				endWithinMs: VIEWER_ENDS_WITHIN_MS,
			},
			demo: {
				command: [join(import.meta.dirname, "main.ts"), ...flags],
				endWithinMs: DEMO_ENDS_WITHIN_MS,
				ctrlC: process.stdin.isTTY ? "told_to_both" : "told_to_us",
			},
			show,
		},
		stop,
	).finally(() => stop[Symbol.dispose]());
	if (typeof outcome === "number") process.exitCode = outcome;
	else process.kill(process.pid, outcome);
}

async function findViewer(signal: AbortSignal): Promise<Installation> {
	if (installedGoProgram(VIEWER) === undefined)
		console.error(
			`Compiling ${VIEWER.module} ${versionOf(VIEWER)}, which takes minutes, this once`,
		);
	const viewer = await installGoProgram(VIEWER, {
		signal,
		withinMs: INSTALL_WITHIN_MS,
	});
	if (viewer.kind === "installed") return viewer;
	return {
		kind: "failed",
		problem: `The viewer cannot be installed: ${viewer.problem}.\nWith a receiver of your own: npx pnpm@12 demo --otlp URL`,
	};
}
