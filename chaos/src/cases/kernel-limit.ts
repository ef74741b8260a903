import { spawn } from "node:child_process";
import { once } from "node:events";
import { PYTHON } from "../../programs/worker-adapter.ts";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import { ALONE, withLayers } from "./layers.ts";

const NODE = `
const held = Buffer.alloc(Number(process.argv[1]) * 2 ** 20, 1);
console.log("up");
setInterval(() => held, 2 ** 30);
`;

/** A program that says something and then does nothing. */
interface Idle {
	readonly name: string;
	readonly command: readonly string[];
	/** How many are killed in one turn; the time is until the last is gone. */
	readonly count?: number;
}

const PYTHONS: readonly Idle[] = [
	python("a Python that has imported nothing"),
	python(
		"a Python with what a worker imports for the framed transport",
		"snakepit_bridge.bridge.worker",
		"snakepit_bridge.bridge.framed_transport.wiring",
	),
	python(
		"a Python with what a worker imports for gRPC",
		"snakepit_bridge.bridge.worker",
		"snakepit_bridge.bridge.grpc_transport.wiring",
	),
];

const IDLE: readonly Idle[] = [
	...[0, 100, 500, 1_000, 2_000].map((ballastMb) => ({
		name: `a Node that holds ${ballastMb} MB`,
		command: [process.execPath, "-e", NODE, String(ballastMb)],
	})),
	...PYTHONS,
	...PYTHONS.map((one) => ({ ...one, name: `4 times ${one.name}`, count: 4 })),
];

/**
 * What no layer can undercut: the kernel frees the memory of a killed process
 * before it closes what it had open, and only then can anybody know. For a host
 * that is the time until its workers can be told; for workers the time from the
 * signal to their end.
 */
export const kernelLimit: readonly ChaosCase[] = IDLE.map((idle) =>
	withLayers(ALONE, {
		row: "the limit: SIGKILL of a program that does nothing, until its pipe is closed",
		name: idle.name,
		rounds: 20,
		timed: true,
		round: () => killIdle(idle),
	}),
);

async function killIdle({ command, count = 1 }: Idle): Promise<RoundOutcome> {
	const [executable = "", ...args] = command;
	const children = Array.from({ length: count }, () =>
		spawn(executable, args, { stdio: ["ignore", "pipe", "inherit"] }),
	);
	const closed = children.map(({ stdout }) => once(stdout, "close"));
	await Promise.all(children.map(({ stdout }) => once(stdout, "data")));
	const at = performance.now();
	for (const child of children) child.kill("SIGKILL");
	await Promise.all(closed);
	return { goneMs: performance.now() - at, leftovers: 0 };
}

function python(name: string, ...modules: readonly string[]): Idle {
	const imports = ["time", ...modules].map((each) => `import ${each}`);
	const lines = [...imports, "print('up', flush=True)", "time.sleep(1e6)"];
	return { name, command: [PYTHON, "-c", lines.join("\n")] };
}
