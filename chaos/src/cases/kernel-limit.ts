import { spawn } from "node:child_process";
import { once } from "node:events";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import { ALONE, withLayers } from "./layers.ts";

const PROGRAM = `
const held = Buffer.alloc(Number(process.argv[1]) * 2 ** 20, 1);
console.log("up");
setInterval(() => held, 2 ** 30);
`;

/**
 * What no layer can undercut: the kernel frees the memory of a killed process
 * before it closes what it had open, and only then can anybody know.
 */
export const kernelLimit: readonly ChaosCase[] = [
	0, 100, 500, 1_000, 2_000,
].map((ballastMb) =>
	withLayers(ALONE, {
		row: "the limit: SIGKILL of a Node that does nothing, until its pipe is closed",
		name: `it holds ${ballastMb} MB`,
		rounds: 20,
		timed: true,
		round: () => killNode(ballastMb),
	}),
);

async function killNode(ballastMb: number): Promise<RoundOutcome> {
	const child = spawn(process.execPath, ["-e", PROGRAM, String(ballastMb)], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	const closed = once(child.stdout, "close");
	await once(child.stdout, "data");
	const at = performance.now();
	child.kill("SIGKILL");
	await closed;
	return { goneMs: performance.now() - at, survivors: 0 };
}
