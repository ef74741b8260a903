import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { NAMESPACE, namespaceEnv } from "../../../scripts/ray/namespace.ts";
import type { RoundOutcome } from "../case.ts";
import type { ClusterScene } from "../cluster-scene.ts";
import { SOURCE_CONDITION } from "./host-process.ts";

const PROGRAM = fileURLToPath(
	new URL("../../programs/ray/rounds.ts", import.meta.url),
);

interface Program {
	readonly child: ChildProcessByStdio<Writable, Readable, null>;
	readonly lines: Interface;
	/** Rejects then. */
	readonly ended: Promise<never>;
}

let program: Program | undefined;
/** Settles when no round is under way. */
let turn: Promise<unknown> = Promise.resolve();

/** Runs one round beside a Ray cluster, in a namespace that has only loopback. Rounds share it, one after the other; it ends with this process. */
export function clusterRound(scene: ClusterScene): Promise<RoundOutcome> {
	const round = turn.then(() => run(scene));
	turn = round.catch(() => {});
	return round;
}

async function run(scene: ClusterScene): Promise<RoundOutcome> {
	program ??= start();
	const { child, lines, ended } = program;
	child.ref();
	const answered = Promise.race([once(lines, "line"), ended]);
	child.stdin.write(`${JSON.stringify(scene)}\n`);
	const [line] = await answered;
	child.unref();
	return JSON.parse(line);
}

function start(): Program {
	const [command = "", ...args] = [
		...NAMESPACE,
		...[process.execPath, SOURCE_CONDITION, PROGRAM],
	];
	const child = spawn(command, args, {
		stdio: ["pipe", "pipe", "inherit"],
		env: { ...process.env, ...namespaceEnv() },
	});
	for (const stream of [child.stdin, child.stdout])
		(stream as unknown as { unref(): void }).unref();
	const ended = once(child, "exit").then(([code, signal]) => {
		program = undefined;
		throw new Error(`The namespace ended with ${code ?? signal}.`);
	});
	ended.catch(() => {});
	return { child, lines: createInterface({ input: child.stdout }), ended };
}
