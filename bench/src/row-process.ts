import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Figures } from "./case.ts";
import type { RowRequest } from "./run-row.ts";

/** What one run of one row came to. */
export type RowOutcome =
	| { readonly kind: "measured"; readonly figures: Figures }
	| { readonly kind: "failed"; readonly problem: string };

const program = fileURLToPath(new URL("./run-row.ts", import.meta.url));
const inside = fileURLToPath(
	new URL("../../scripts/ray/inside.ts", import.meta.url),
);
/** Nothing that is measured takes as long: it hangs. */
const HANGS_AFTER_MS = 10 * 60_000;
const ANSWER = 3;
const STDOUT = 1;

/** Measures one row once, in a fresh process, beside a cluster if it needs one. Never rejects: what goes wrong is what came of it. */
export async function runRow(
	request: Omit<RowRequest, "answerTo">,
	clusterNodes?: number,
): Promise<RowOutcome> {
	// Into the namespace only the usual descriptors lead.
	const answerTo = clusterNodes === undefined ? ANSWER : STDOUT;
	const whole: RowRequest = { ...request, answerTo };
	const child = spawn(
		process.execPath,
		[
			...(clusterNodes === undefined
				? []
				: [inside, String(clusterNodes), process.execPath]),
			"--conditions=snakepit-source",
			"--expose-gc",
			"--no-warnings",
			program,
			JSON.stringify(whole),
		],
		{ stdio: ["ignore", "pipe", "pipe", "pipe"] },
	);
	const { soakMs } = request.setting.pace;
	const deadline = setTimeout(
		() => child.kill("SIGKILL"),
		HANGS_AFTER_MS + soakMs,
	);
	const [answer, said] = await Promise.all([
		textOf(child.stdio[answerTo] as Readable),
		textOf(child.stderr),
		...(answerTo === STDOUT ? [] : [textOf(child.stdout)]),
		once(child, "close"),
	]);
	clearTimeout(deadline);
	if (answer !== "") return { kind: "measured", figures: JSON.parse(answer) };
	const how =
		child.signalCode === null ? `exit ${child.exitCode}` : child.signalCode;
	return { kind: "failed", problem: `${how}: ${essence(said)}` };
}

async function textOf(stream: Readable | null): Promise<string> {
	let text = "";
	if (stream === null) return text;
	stream.setEncoding("utf8");
	for await (const chunk of stream) text += chunk;
	return text;
}

/** The line that names the error, or the last one. */
function essence(said: string): string {
	const lines = said.split("\n").filter((line) => line.trim() !== "");
	return (
		lines.find((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1) ?? "silent"
	);
}
