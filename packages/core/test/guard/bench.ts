import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { testMark } from "../../../../scripts/test-mark.ts";
import { openRun, type Run } from "../../src/index.ts";
import type {
	ProcessHost,
	ProcessSpec,
	StartedProcess,
} from "../../src/infrastructure.ts";
import type { RunInfrastructure } from "../../src/registry.ts";
import { EventRecorder } from "../../src/testing.ts";

/** A run whose workers have the guard as their parent. */
export interface GuardBench {
	readonly run: Run;
	/** Made by this bench, and removed by it. */
	readonly dataDir: string;
	readonly events: EventRecorder;
	/** This machine, with the guard as the parent of what it starts. */
	readonly host: ProcessHost;
	/** The pid of the outer guard that was started last. */
	outer(): number;
}

export async function openGuard(): Promise<GuardBench> {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-guard-"));
	const events = new EventRecorder();
	const run = await openRun({
		dataDir,
		guard: "required",
		onEvent: events.record,
	});
	return {
		run,
		dataDir,
		events,
		host: startsFrom(run.infrastructure),
		outer: () => events.of("protection.started").at(-1)?.pid ?? 0,
	};
}

/** Ends the run and removes what it left. */
export async function closeGuard({ run, dataDir }: GuardBench): Promise<void> {
	await run.close();
	rmSync(dataDir, { recursive: true });
}

/** A guard for one test. */
export async function guardOfTest(): Promise<GuardBench> {
	const bench = await openGuard();
	onTestFinished(() => closeGuard(bench));
	return bench;
}

export const PLAIN: Omit<ProcessSpec, "executable"> = {
	args: [],
	env: { PATH: process.env["PATH"] ?? "" },
	cwd: undefined,
	stdin: "empty",
	control: false,
};

/** Starts a shell's script as a worker. */
export function startScript(
	{ run }: GuardBench,
	script: string,
	fields: Partial<ProcessSpec> = {},
): Promise<StartedProcess> {
	return run.infrastructure.source.start(
		{
			...PLAIN,
			env: { ...PLAIN.env, ...testMark() },
			executable: "sh",
			args: ["-c", script],
			...fields,
		},
		() => {},
	);
}

/** The first line that a worker prints. */
export async function firstLine(process: StartedProcess): Promise<string> {
	let text = "";
	for await (const chunk of process.stdout.iterator({
		destroyOnReturn: false,
	})) {
		text += String(chunk);
		if (text.includes("\n")) break;
	}
	return text.split("\n")[0] ?? "";
}

/** The host's methods work on it alone: all but the source is asked of it. */
function startsFrom({ host, source }: RunInfrastructure): ProcessHost {
	return new Proxy(host, {
		get(target, name) {
			if (name === "source") return source;
			const value: unknown = Reflect.get(target, name);
			return typeof value === "function" ? value.bind(target) : value;
		},
	});
}
