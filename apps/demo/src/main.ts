// The demo: four Python workers read handwritten digits, one of them is killed, and at the end nothing is left.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import {
	type Pool,
	SnakepitError,
	type SnakepitEvent,
	withPool,
} from "@snakepit/core";
import { readForEver } from "./dashboard.ts";
import { type Display, doneIn, openDisplay } from "./display.ts";
import { digitsEnvironment, makeEnvironment } from "./environment.ts";
import { counted, duration } from "./figures.ts";
import { type Flags, HELP, readFlags } from "./flags.ts";
import type { Tools } from "./gen/digits.ts";
import { PictureDisplay } from "./picture.ts";
import { poolOptions } from "./pool-options.ts";
import { leftoversOf, seeProcesses, trailOfHost } from "./processes.ts";
import { readDigits } from "./read-digits.ts";
import { whyNoReceiver } from "./receiver.ts";
import {
	drawLeftovers,
	drawReport,
	type Findings,
	isAsPromised,
	type Replacement,
} from "./report.ts";
import type { DemoTelemetry } from "./telemetry.ts";

const REPLACED_WITHIN_MS = 60_000;
/** When the host is killed: some answers are there, and no worker has been killed yet. */
const KILL_HOST_AT = 0.2;
/** How long after that something may be left. */
const GONE_WITHIN_MS = 1_000;
/** How long to go on looking at what should be gone. */
const LOOK_FOR_MS = 15_000;

try {
	process.exitCode = await main(process.argv.slice(2));
} catch (error) {
	// Snakepit's errors say what to do next; any other needs its stack.
	console.error(error instanceof SnakepitError ? error.message : error);
	process.exitCode = 1;
}

async function main(args: readonly string[]): Promise<number> {
	let flags: Flags;
	try {
		flags = readFlags(args);
	} catch (error) {
		console.error((error as Error).message);
		return 2;
	}
	if (flags.help) {
		process.stdout.write(HELP);
		return 0;
	}
	const { otlp, svg, transport } = flags;
	if (flags.dash) return await readForEver(openDisplay("plain"), transport);
	if (flags.ray) {
		// Other demos need nothing of Ray.
		const { readOnCluster } = await import("./cluster.ts");
		return await readOnCluster(openDisplay("plain"));
	}
	if (flags.killHost)
		return await killHost(
			[
				"--transport",
				transport,
				...(otlp === undefined ? [] : ["--otlp", otlp]),
			],
			openDisplay("plain"),
		);
	const display = openDisplay(flags.plain ? "plain" : "live");
	if (svg === undefined) return await demo(display, flags);
	const picture = new PictureDisplay(display);
	const code = await demo(picture, flags);
	writeFileSync(svg, picture.draw());
	return code;
}

/** The demo, with telemetry if there is a receiver at `otlp`. */
async function demo(
	display: Display,
	{ otlp, transport }: Flags,
): Promise<number> {
	if (otlp === undefined) return await runPool(display, transport);
	const problem = await whyNoReceiver(otlp);
	if (problem !== undefined) {
		display.print(`no telemetry: no OTLP receiver at ${otlp}: ${problem}`);
		return await runPool(display, transport);
	}
	// Without --otlp the demo does not wait for OpenTelemetry's SDK to load.
	const { DemoTelemetry } = await import("./telemetry.ts");
	return await runPool(display, transport, new DemoTelemetry(otlp));
}

/** Makes the pool, has every image read, closes the pool, and looks for what is left. */
async function runPool(
	display: Display,
	transport: Flags["transport"],
	telemetry?: DemoTelemetry,
): Promise<number> {
	const trail = { runs: new Set<string>(), groups: new Set<number>() };
	let interrupted = false;
	const onEvent = (event: SnakepitEvent): void => {
		if (event.type === "run.started") trail.runs.add(event.runId);
		// Each worker leads a process group of its own.
		if (event.type === "worker.spawned") trail.groups.add(event.pid);
		// After Ctrl-C the workers end on purpose, which would look like failures.
		if (!interrupted && !telemetry?.takes(event)) display.handle(event);
		if (event.type === "host.signal_received") interrupted = true;
	};
	const environment = digitsEnvironment(telemetry?.pythonRequirements);
	try {
		await makeEnvironment(environment, (line) => display.print(line));
		for (const line of [
			"to look at it from another terminal: npx pnpm@12 snakepit top",
			"in the browser, until Ctrl-C: npx pnpm@12 demo --dash",
		])
			display.print([["faint", line]]);
		const outcome = await withPool(
			{
				...poolOptions(environment, transport, telemetry?.workerEnv),
				...(telemetry && { instruments: telemetry.instruments }),
				onEvent,
			},
			(pool: Pool<Tools>) => readAndKill(pool, display),
		);
		const processes = seeProcesses();
		const leftovers = leftoversOf(trail, processes);
		const findings = { ...outcome, leftovers, lookedAt: processes.length };
		display.close();
		for (const line of drawReport(findings, display.columns))
			display.print(line);
		return isAsPromised(findings) ? 0 : 1;
	} catch (error) {
		if (interrupted) return 1;
		throw error;
	} finally {
		display.close();
		// After Ctrl-C Snakepit closes the pool, flushes telemetry, and ends the program by the signal.
		if (!interrupted && telemetry !== undefined)
			display.print(await telemetry.end());
	}
}

type Outcome = Omit<Findings, "leftovers" | "lookedAt">;

/** Has every image read, and kills a worker when half of the answers are there. */
async function readAndKill(
	pool: Pool<Tools>,
	display: Display,
): Promise<Outcome> {
	let replacing: Promise<Replacement> | undefined;
	const answers = await readDigits(pool, display, () => {
		replacing = killOneWorker(pool, display);
	});
	if (replacing === undefined) throw new Error("No worker was killed.");
	return {
		...answers,
		replacement: await replacing,
		statistics: pool.statistics(),
	};
}

/** Kills a worker with SIGKILL while it runs a call, and waits until its replacement answers a ping. */
async function killOneWorker(
	pool: Pool<Tools>,
	display: Display,
): Promise<Replacement> {
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
		const seconds = REPLACED_WITHIN_MS / 1_000;
		const message = `${workerId} was killed and not replaced within ${seconds} s.`;
		replaced.reject(new Error(message));
	}, REPLACED_WITHIN_MS);
	try {
		const killedAtMs = performance.now();
		process.kill(pid, "SIGKILL");
		display.print(
			`killed ${workerId}, pid ${pid}, with SIGKILL while it had ${counted(callsRunning, "call")}`,
		);
		const newPid = await replaced.promise;
		const durationMs = performance.now() - killedAtMs;
		const pingMs = await pool.ping(workerId);
		if (pingMs === undefined)
			throw new Error(`${workerId}, now pid ${newPid}, does not answer pings.`);
		display.print(
			`${workerId} is back, pid ${newPid}: answers a ping after ${duration(pingMs)}`,
		);
		return { workerId, killedPid: pid, newPid, durationMs };
	} finally {
		clearTimeout(deadline);
		stopListening();
	}
}

/** Runs the demo in a child, kills it with SIGKILL, and looks at the system until nothing of it is left. */
async function killHost(
	flags: readonly string[],
	display: Display,
): Promise<number> {
	const program = [...process.execArgv, import.meta.filename, ...flags];
	const host = spawn(process.execPath, program, {
		stdio: ["ignore", "pipe", "inherit"],
	});
	const exited = once(host, "exit");
	let done = 0;
	for await (const line of createInterface({ input: host.stdout })) {
		display.print([["faint", `host | ${line}`]]);
		done = doneIn(line) ?? done;
		if (done >= KILL_HOST_AT) break;
	}
	if (host.pid === undefined || done < KILL_HOST_AT) {
		await exited;
		display.print("The host ended too early; its last lines say why.");
		return 1;
	}
	const trail = trailOfHost(host.pid, seeProcesses());
	const killedAtMs = performance.now();
	host.kill("SIGKILL");
	display.print(
		`killed host ${host.pid} with SIGKILL when ${100 * done} % was read; it had ${counted(trail.groups.size, "process group")}`,
	);
	for (let looks = 1; ; looks++) {
		const leftovers = leftoversOf(trail, seeProcesses());
		// An upper bound: what the last look did not find ended before it.
		const tookMs = performance.now() - killedAtMs;
		if (leftovers.length > 0 && tookMs <= LOOK_FOR_MS) {
			// Looking takes processor time that the ending processes need.
			await pause(1);
			continue;
		}
		await exited;
		const isGone = leftovers.length === 0;
		const inTime = isGone && tookMs <= GONE_WITHIN_MS;
		const what = isGone
			? "nothing"
			: counted(leftovers.length, "process", "processes");
		display.print([
			["faint", "left         "],
			[inTime ? "good" : "bad", `${what} after ${duration(tookMs)}`],
			[
				"faint",
				`  by group or marker, in ${counted(looks, "look")}; the limit is ${duration(GONE_WITHIN_MS)}`,
			],
		]);
		for (const line of drawLeftovers(leftovers)) display.print(line);
		return inTime && trail.groups.size > 0 ? 0 : 1;
	}
}
