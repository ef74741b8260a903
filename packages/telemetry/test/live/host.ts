import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { SystemProcessHost } from "@snakepit/core/infrastructure";
import { onTestFinished } from "vitest";
import { end } from "../support/prometheus-server.ts";

/** What a host program tells. */
export interface HostNews {
	/** Where Prometheus finds its metrics, on loopback. */
	readonly port: number;
	/** Its workers and its protections. */
	readonly pids: readonly number[];
}

/** A host in a process of its own; closed when the test is finished. */
interface Host extends HostNews {
	/** SIGSTOP, until the test is finished. */
	stop(): void;
	/** SIGKILL; resolves when it has ended, whatever becomes of its workers. */
	kill(): Promise<void>;
}

const DEADLINE_MS = 30_000;

/** Starts a host of three sleeping workers, with protections or a fault, and one of two ways to name its metrics. */
export async function startHost(
	dataDir: string,
	...names: readonly (
		| ("watchdog" | "guard")
		| ("exporter" | "otlp")
		| ("trouble" | "crash-loop" | "hang" | "overload")
	)[]
): Promise<Host> {
	const child = spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			join(import.meta.dirname, "host-program.ts"),
			dataDir,
			...names,
		],
		{ stdio: ["ignore", "pipe", "inherit"] },
	);
	onTestFinished(() => close(child));
	for await (const line of createInterface({ input: child.stdout as Readable }))
		return {
			...(JSON.parse(line) as HostNews),
			stop: () => void child.kill("SIGSTOP"),
			kill: () => end(child),
		};
	throw new Error("the host said nothing");
}

/** Resolves when none of these processes is there any more: nobody tells of the end of a stranger. */
export async function allGone(pids: readonly number[]): Promise<void> {
	const machine = new SystemProcessHost();
	const tooLate = AbortSignal.timeout(DEADLINE_MS);
	while (pids.some((pid) => machine.observe(pid) !== "gone")) {
		if (tooLate.aborted)
			throw new Error(`Not gone within ${DEADLINE_MS} ms: one of ${pids}.`);
		await delay(20);
	}
}

async function close(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exit = once(child, "exit");
	child.kill("SIGCONT");
	child.kill("SIGTERM");
	await exit;
}
