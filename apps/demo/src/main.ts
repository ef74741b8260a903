// The demo: four Python workers read handwritten digits, one of them is killed, and at the end nothing is left.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { python } from "@snakepit/adapter-python";
import {
	type Pool,
	type PoolOptions,
	SnakepitError,
	type SnakepitEvent,
	withPool,
} from "@snakepit/core";
import {
	count,
	counted,
	digitsEnvironment,
	duration,
	printAnswers,
	printFact,
	readDigits,
} from "./digits.ts";
import type { Tools } from "./gen/digits.ts";
import { leftoversOf, listProcesses, printLeftovers } from "./processes.ts";
import type { DemoTelemetry } from "./telemetry.ts";

const HELP = `Reads the 1,797 handwritten digits that ship inside scikit-learn with 4 Python
workers, kills one of them half way, and counts the processes that are left.

  npx pnpm@12 demo [flags]

  --dash        read digits until Ctrl-C, and open the dashboard in the browser
  --kill-host   run all that in a child, kill the child with SIGKILL in full
                flight, and report how long until nothing of it was left
  --otlp URL    export traces, metrics and logs of the demo and its workers to an
                OTLP/HTTP receiver, such as http://127.0.0.1:4318
  --help        this text

Exit code: 0 when every image was answered exactly once and nothing is left
(--kill-host: nothing was left within a second), 2 for a wrong flag, else 1.
`;

const REPLACED_WITHIN_MS = 60_000;
/** Why a worker ended although this program did not ask it to. */
const UNWANTED: readonly string[] = [
	"exited",
	"broken",
	"hung",
	"stuck",
	"vanished",
];
const flags = readFlags();
try {
	process.exitCode = await main();
} catch (error) {
	// Snakepit's errors say what to do next; any other needs its stack.
	console.error(error instanceof SnakepitError ? error.message : error);
	process.exitCode = 1;
}

function readFlags() {
	try {
		const { values } = parseArgs({
			// `pnpm demo -- --help` passes on the two dashes as well.
			args: process.argv.slice(2).filter((arg) => arg !== "--"),
			options: {
				dash: { type: "boolean" },
				"kill-host": { type: "boolean" },
				otlp: { type: "string" },
				help: { type: "boolean", short: "h" },
			},
		});
		const { otlp } = values;
		const url = otlp === undefined ? undefined : URL.parse(otlp);
		// The message does not repeat the URL, which may contain a secret.
		if (
			url === null ||
			(url && (!/^https?:$/.test(url.protocol) || url.username))
		)
			throw new Error(
				"--otlp takes the URL of an OTLP/HTTP receiver without a user, such as http://127.0.0.1:4318",
			);
		return { ...values, otlp: otlp?.replace(/\/+$/, "") };
	} catch (error) {
		console.error(`${(error as Error).message}\n\n${HELP}`);
		process.exit(2);
	}
}

async function main(): Promise<number> {
	if (flags.help) {
		process.stdout.write(HELP);
		return 0;
	}
	// What only one flag needs is loaded with that flag.
	if (flags["kill-host"])
		return await (await import("./kill-host.ts")).killHost(
			import.meta.filename,
		);
	if (flags.otlp === undefined) return await readOnWorkers();
	const { DemoTelemetry } = await import("./telemetry.ts");
	return await readOnWorkers(new DemoTelemetry(flags.otlp));
}

/** Makes the pool, has every image read, closes the pool, and looks for what is left. */
async function readOnWorkers(telemetry?: DemoTelemetry): Promise<number> {
	const environment = digitsEnvironment(telemetry?.pythonRequirements);
	for (const line of [
		"the first run makes a Python environment with scikit-learn, which takes about a minute",
		"to look at it from another terminal: npx pnpm@12 snakepit top",
		"in the browser, until Ctrl-C: npx pnpm@12 demo --dash",
	])
		console.log(line);
	const trace = { runs: new Set<string>(), groups: new Set<number>() };
	let interrupted = false;
	const onEvent = (event: SnakepitEvent): void => {
		if (event.type === "run.started") trace.runs.add(event.runId);
		// Each worker leads a process group of its own.
		if (event.type === "worker.spawned") trace.groups.add(event.pid);
		// After Ctrl-C the workers end on purpose, which would look like failures.
		if (!interrupted && !telemetry?.isAboutExports(event)) narrate(event);
		if (event.type === "host.signal_received") interrupted = true;
	};
	const options: PoolOptions = {
		name: "digits",
		adapter: python({
			tools: join(import.meta.dirname, "digits.py"),
			environment,
			// All workers are forked from one that has loaded what they need.
			preload: "tools",
			...(telemetry && { env: telemetry.workerEnv }),
		}),
		size: 4,
		// All images are asked for at once, and wait in the pool's queue.
		queue: { limit: 2_000 },
		// Often enough for a demo that lasts for seconds.
		heartbeat: { intervalMs: 500 },
		// `narrate` prints what workers print.
		output: { echo: "none" },
		...(telemetry && { instruments: telemetry.instruments }),
		onEvent,
	};
	try {
		if (flags.dash) {
			const { readForEver } = await import("./dashboard.ts");
			return await withPool(
				{ ...options, control: { scopes: ["read", "logs", "act", "call"] } },
				readForEver,
			);
		}
		const { answers, replacement, statistics } = await withPool(
			options,
			readAndKill,
		);
		printAnswers(answers);
		printFact("restarts", `${statistics.restarts}, ${replacement}`);
		const now = listProcesses();
		const leftovers = leftoversOf(trace, now);
		printLeftovers(leftovers, `, of ${count(now.processes.length)} looked at`);
		const { accepted, succeeded } = statistics.calls;
		const isAsPromised =
			answers.once === answers.images &&
			succeeded === accepted &&
			leftovers.length === 0;
		return isAsPromised ? 0 : 1;
	} catch (error) {
		if (interrupted) return 1;
		throw error;
	} finally {
		// After Ctrl-C Snakepit closes the pool, flushes telemetry, and ends the program by the signal.
		if (!interrupted && telemetry !== undefined)
			printFact("telemetry", await telemetry.end());
	}
}

/** Has every image read, and kills a worker when half of the answers are there. */
async function readAndKill(pool: Pool<Tools>) {
	let replacing: Promise<string> | undefined;
	const answers = await readDigits(pool, () => {
		replacing = killOneWorker(pool);
	});
	const replacement = await replacing;
	return { answers, replacement, statistics: pool.statistics() };
}

/** Kills a worker with SIGKILL while it runs a call, and waits until its replacement answers a ping. */
async function killOneWorker(pool: Pool<Tools>): Promise<string> {
	const ready = pool.workers().filter(({ state }) => state === "ready");
	const victim = ready.find(({ callsRunning }) => callsRunning > 0) ?? ready[0];
	if (victim?.pid === undefined) throw new Error("No worker is ready.");
	const { workerId, pid, callsRunning } = victim;
	const replaced = Promise.withResolvers<number>();
	const stopListening = pool.on("worker.ready", (event) => {
		if (event.workerId === workerId) replaced.resolve(event.pid);
	});
	// It also keeps the program alive, which an idle pool does not.
	const deadline = setTimeout(() => {
		replaced.reject(
			new Error(
				`${workerId} was not replaced within ${duration(REPLACED_WITHIN_MS)}.`,
			),
		);
	}, REPLACED_WITHIN_MS);
	try {
		const killedAtMs = performance.now();
		process.kill(pid, "SIGKILL");
		console.log(
			`killed ${workerId}, pid ${pid}, with SIGKILL while it had ${counted(callsRunning, "call")}`,
		);
		const newPid = await replaced.promise;
		const tookMs = performance.now() - killedAtMs;
		if ((await pool.ping(workerId)) === undefined)
			throw new Error(`${workerId}, now pid ${newPid}, does not answer pings.`);
		return `${workerId}: pid ${pid} killed, pid ${newPid} ready ${duration(tookMs)} later`;
	} finally {
		clearTimeout(deadline);
		stopListening();
	}
}

/** Prints an event if it is of interest to a person. */
function narrate(event: SnakepitEvent): void {
	const line = describe(event);
	if (line !== undefined) console.log(line);
}

function describe(event: SnakepitEvent): string | undefined {
	switch (event.type) {
		case "cleanup.finished":
			if (event.deadRuns === 0) return undefined;
			return `cleaned up after ${counted(event.deadRuns, "dead run")}: ${counted(event.found, "process", "processes")} found, ${count(event.killed)} killed`;
		case "worker.ready":
			return `${event.workerId} is ready after ${duration(event.durationMs)}, pid ${event.pid}`;
		case "worker.exited": {
			const { exit, reason } = event;
			if (!UNWANTED.includes(reason)) return undefined;
			const how =
				exit?.kind === "signal" ? exit.signal : `exit code ${exit?.code}`;
			return `${event.workerId} is gone, pid ${event.pid}: ${how}, ${counted(event.callsLost, "call")} lost`;
		}
		case "call.retried":
			return `call ${event.callId} is retried: ${event.because}`;
		case "worker.output":
			return `${event.workerId} | ${event.line}`;
		case "worker.logged":
			return `${event.workerId} | ${event.record.level} ${event.record.logger}: ${event.record.message}`;
		case "registry.degraded":
			return event.message;
		case "host.signal_received":
			return `${event.signal}: ending the workers`;
		default:
			return undefined;
	}
}
