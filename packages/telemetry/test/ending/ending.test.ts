import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";

interface Ending {
	readonly exit: readonly unknown[];
	/** What was exported, in this order. */
	readonly spans: readonly string[];
	readonly events: readonly string[];
	readonly warned: string;
}

/** Runs the program until it ends, and sends it SIGTERM once it is ready. */
async function ending(habit: string): Promise<Ending> {
	const dataDir = temporaryDirectory();
	const child: ChildProcess = spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			join(import.meta.dirname, "ending-program.ts"),
			dataDir,
			habit,
		],
		{ stdio: ["ignore", "pipe", "pipe"] },
	);
	onTestFinished(() => void child.kill("SIGKILL"));
	const exit = once(child, "exit");
	let warned = "";
	child.stderr?.setEncoding("utf8").on("data", (text) => {
		warned += text;
	});
	const spans: string[] = [];
	const events: string[] = [];
	for await (const line of createInterface({
		input: child.stdout as Readable,
	})) {
		const { ready, span, event } = JSON.parse(line);
		if (ready && habit !== "nothing is left to do") child.kill("SIGTERM");
		if (span) spans.push(span);
		if (event) events.push(event);
	}
	return { exit: await exit, spans, events, warned };
}

const LONG = { timeout: 60_000 };

test.each([
	["the signal ends the program", [null, "SIGTERM"]],
	["the program closes first", [null, "SIGTERM"]],
	["nothing is left to do", [0, null]],
])(
	"the end of pool, workers and run is exported before the program ends: %s",
	LONG,
	async (habit, exit) => {
		const { spans, events, ...report } = await ending(habit);
		expect(report.exit).toEqual(exit);
		expect(spans).toEqual(
			expect.arrayContaining(["pool start", "worker stop", "pool close"]),
		);
		expect(events).toEqual(
			expect.arrayContaining([
				"snakepit.worker.exited",
				"snakepit.pool.closed",
				"snakepit.run.ended",
			]),
		);
	},
);

test(
	"an SDK that shuts itself down at the signal, as auto-instrumentations do, exports the signal and nothing later; the program ends by it after its grace, with a warning",
	LONG,
	async () => {
		const { exit, spans, events, warned } = await ending(
			"the SDK shuts itself down",
		);
		expect(exit).toEqual([null, "SIGTERM"]);
		expect(events).toContain("snakepit.host.signal_received");
		expect(spans).toContain("pool start");
		expect(spans).not.toContain("pool close");
		expect(warned).toMatch(
			/SNAKEPIT_SIGNAL_GRACE.*SIGTERM came 1 s ago.*signalGraceMs/,
		);
	},
);
