import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

/** What a test may see of a host: it waits for what the host tells. */
export interface HostProcess {
	readonly child: ChildProcess;
	readonly pid: number;
	/** The first reported fact that has this field. */
	reported(field: string): Promise<unknown>;
	/** Everything reported so far that has this field. */
	all(field: string): readonly unknown[];
	/** SIGKILL; resolves when the kernel says that it is gone. */
	kill(): Promise<void>;
}

const DEADLINE_MS = 60_000;

/** Starts a host program; whatever is left of it when the test ends is killed. */
export function startHost(
	program: URL,
	orders: object,
	env: NodeJS.ProcessEnv = {},
): HostProcess {
	const child = spawn(
		process.execPath,
		["--conditions=snakepit-source", program.pathname, JSON.stringify(orders)],
		{
			stdio: ["ignore", "pipe", "pipe"],
			env: { ...process.env, ...env },
		},
	);
	const facts: Record<string, unknown>[] = [];
	const waiting = new Set<() => void>();
	let errors = "";
	child.stderr?.on("data", (chunk) => (errors += chunk));
	createInterface({ input: child.stdout as NodeJS.ReadableStream }).on(
		"line",
		(line) => {
			facts.push(JSON.parse(line));
			for (const look of waiting) look();
		},
	);
	const gone = new Promise<void>((resolve) =>
		child.once("exit", () => resolve()),
	);
	onTestFinished(async () => {
		child.kill("SIGKILL");
		await gone;
	});
	return {
		child,
		pid: child.pid ?? -1,
		all: (field) =>
			facts.filter((fact) => field in fact).map((fact) => fact[field]),
		reported: (field) =>
			new Promise((resolve, reject) => {
				const fail = (why: string): void =>
					reject(
						new Error(
							`The host never reported "${field}": ${why}\nIt reported: ${JSON.stringify(facts)}\n${errors}`,
						),
					);
				const deadline = setTimeout(
					() => fail(`nothing within ${DEADLINE_MS} ms`),
					DEADLINE_MS,
				);
				const look = (): void => {
					const fact = facts.find((each) => field in each);
					if (fact === undefined) return;
					clearTimeout(deadline);
					waiting.delete(look);
					resolve(fact[field]);
				};
				waiting.add(look);
				void gone.then(() => {
					look();
					fail("it exited");
				});
				look();
			}),
		kill: async () => {
			child.kill("SIGKILL");
			await gone;
		},
	};
}

/** Living processes that carry the marker of a run, seen from outside: the process table. */
export function marked(runId: string): readonly number[] {
	const found: number[] = [];
	for (const name of readdirSync("/proc")) {
		if (!/^\d+$/.test(name)) continue;
		try {
			if (
				!readFileSync(`/proc/${name}/environ`, "latin1").includes(
					`SNAKEPIT_RUN=${runId}:`,
				)
			)
				continue;
			const stat = readFileSync(`/proc/${name}/stat`, "latin1");
			if (!/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2)))
				found.push(Number(name));
		} catch {
			// Gone meanwhile, or another user's.
		}
	}
	return found;
}

/** How long it takes until nothing carries the marker any more, in milliseconds; looks again at every turn until the deadline. */
export async function untilNothingIsLeft(
	runId: string,
	deadlineMs: number,
): Promise<number> {
	const begun = performance.now();
	for (;;) {
		const left = marked(runId);
		const elapsed = performance.now() - begun;
		if (left.length === 0) return elapsed;
		if (elapsed > deadlineMs)
			throw new Error(
				`After ${Math.round(elapsed)} ms there are still ${left.join(", ")} of run ${runId}.`,
			);
		await new Promise((resolve) => setImmediate(resolve));
	}
}
