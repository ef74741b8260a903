import {
	type Pool,
	SnakepitError,
	type SnakepitEvent,
	withPool,
} from "@snakepit/core";
import { HELP, readArguments } from "./arguments.ts";
import { digitsEnvironment, makeEnvironment } from "./digits-environment.ts";
import { digitsPool } from "./digits-pool.ts";
import type { Display } from "./display.ts";
import type { Tools } from "./gen/digits.ts";
import { killHost } from "./kill-host.ts";
import { EventTrail, leftoversOf } from "./leftovers.ts";
import { LiveDisplay } from "./live-display.ts";
import type { DemoTelemetry } from "./otlp/demo-telemetry.ts";
import { drawEnding } from "./otlp/draw-ending.ts";
import { whyNoReceiver } from "./otlp/receiver.ts";
import { plainDisplay } from "./plain-display.ts";
import { seeProcesses } from "./process-table.ts";
import { drawReport, isAsPromised } from "./report.ts";
import { runDigits } from "./run-digits.ts";
import { columns, isTerminal, paint, show } from "./terminal.ts";

const { stdout } = process;

try {
	process.exitCode = await answer(process.argv.slice(2));
} catch (error) {
	// Errors of our own say what to do next; of any other the stack is wanted.
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
			return await killHost(
				import.meta.filename,
				request.otlp === undefined ? [] : ["--otlp", request.otlp],
				show,
			);
		case "run": {
			const display =
				isTerminal && !request.plain
					? new LiveDisplay(stdout, paint)
					: plainDisplay((text) => stdout.write(text));
			return request.otlp === undefined
				? await demo(display)
				: await toldDemo(display, request.otlp);
		}
	}
}

/** The main job, told to a receiver; where there is none, the main job. */
async function toldDemo(display: Display, endpoint: string): Promise<number> {
	const problem = await whyNoReceiver(endpoint);
	if (problem !== undefined) {
		display.say(`no telemetry: nobody takes OTLP at ${endpoint}: ${problem}`);
		return await demo(display);
	}
	// A demo that nobody asked for telemetry does not wait for the SDK to load.
	const { DemoTelemetry } = await import("./otlp/demo-telemetry.ts");
	const telemetry = new DemoTelemetry(endpoint);
	try {
		return await demo(display, telemetry);
	} finally {
		const ending = await telemetry.end();
		show(drawEnding(ending, endpoint));
		telemetry.signals.raise();
		// It would hold the program open for as long as it tries.
		if (ending.kind === "given_up") setImmediate(() => process.exit());
	}
}

/** The main job: has every image read by a pool, ends that, and looks at what is left. */
async function demo(
	display: Display,
	telemetry?: DemoTelemetry,
): Promise<number> {
	const trail = new EventTrail();
	let interrupted = false;
	const environment = digitsEnvironment(telemetry?.pythonRequirements);
	const hear = (event: SnakepitEvent) => {
		trail.hear(event);
		// What a signal brings to an end would only be told as a failure.
		if (!telemetry?.takes(event) && !interrupted) display.hear(event);
		if (event.type === "host.signal_received") interrupted = true;
	};
	try {
		await makeEnvironment(environment, (line) => display.say(line));
		const outcome = await withPool(
			digitsPool(environment, hear, telemetry),
			(pool: Pool<Tools>) => {
				telemetry?.closeWhenHeld(pool);
				return runDigits(pool, display);
			},
		);
		const processes = seeProcesses();
		const leftovers = leftoversOf(trail, processes);
		const findings = { ...outcome, leftovers, lookedAt: processes.length };
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
