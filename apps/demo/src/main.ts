import { type Pool, SnakepitError, withPool } from "@snakepit/core";
import { HELP, readArguments } from "./arguments.ts";
import { makeDigitsEnvironment } from "./digits-environment.ts";
import { type DigitTools, digitsPool } from "./digits-pool.ts";
import type { Display } from "./display.ts";
import { killHost } from "./kill-host.ts";
import { LiveDisplay } from "./live-display.ts";
import { plainDisplay } from "./plain-display.ts";
import { seeProcesses } from "./process-table.ts";
import { drawReport, isAsPromised } from "./report.ts";
import { runDigits } from "./run-digits.ts";
import { EventTrail, survivorsOf } from "./survivors.ts";
import { columns, isTerminal, paint, show } from "./terminal.ts";

const { stdout } = process;

try {
	process.exitCode = await answer(process.argv.slice(2));
} catch (error) {
	// Snakepit's own errors say what to do next; of any other the stack is wanted.
	console.error(error instanceof SnakepitError ? error.message : error);
	process.exitCode = 1;
}

async function answer(args: readonly string[]): Promise<number> {
	const request = readArguments(args);
	switch (request.kind) {
		case "mistake":
			console.error(request.message);
			return 2;
		case "help":
			stdout.write(HELP);
			return 0;
		case "kill_host":
			return await killHost(import.meta.filename, show);
		case "run":
			return await demo(
				isTerminal && !request.plain
					? new LiveDisplay(stdout, paint)
					: plainDisplay((text) => stdout.write(text)),
			);
	}
}

/** The main job: has every image read by a pool, ends that, and looks at what is left. */
async function demo(display: Display): Promise<number> {
	const trail = new EventTrail();
	let interrupted = false;
	const options = digitsPool((event) => {
		trail.hear(event);
		// What a signal brings to an end would only be told as a failure.
		if (!interrupted) display.hear(event);
		if (event.type === "host.signal_received") interrupted = true;
	});
	try {
		await makeDigitsEnvironment((line) => display.say(line));
		const outcome = await withPool(options, (pool: Pool<DigitTools>) =>
			runDigits(pool, display),
		);
		const processes = seeProcesses();
		const survivors = survivorsOf(trail, processes);
		const findings = { ...outcome, survivors, lookedAt: processes.length };
		display.close();
		drawReport(findings, columns).forEach(show);
		return isAsPromised(findings) ? 0 : 1;
	} catch (error) {
		if (interrupted) return 1;
		throw error;
	} finally {
		display.close();
	}
}
