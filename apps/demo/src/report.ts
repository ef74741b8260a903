import { count, counted, duration, percent } from "./figures.ts";
import { drawLeftover, type Leftover } from "./leftovers.ts";
import { type Line, type Piece, type Tone, widthOf } from "./line.ts";
import type { Outcome } from "./run-digits.ts";

/** Everything that the demo found out. */
export interface Findings extends Outcome {
	readonly leftovers: readonly Leftover[];
	/** How many processes of the system were looked at. */
	readonly lookedAt: number;
}

/** Whether the demo did what it promises: every image answered exactly once, nothing left. */
export function isAsPromised({
	answers,
	statistics,
	leftovers,
}: Findings): boolean {
	const { calls } = statistics;
	return (
		answers.once === answers.images &&
		answers.given === answers.images &&
		calls.succeeded === calls.accepted &&
		leftovers.length === 0
	);
}

/** Says what was found, one fact a line; where that is too wide, its details are a line of their own. */
export function drawReport(findings: Findings, columns: number): Line[] {
	const { answers, durationMs, healing, statistics, leftovers } = findings;
	const { run } = statistics;
	const wrong = answers.images - answers.right;
	const all = answers.once === answers.images;
	const facts = [
		fact(
			"answered",
			`${count(answers.once)} of ${counted(answers.images, "image")} exactly once`,
			all ? "good" : "bad",
		),
		fact(
			"accuracy",
			percent(answers.right, answers.images),
			"strong",
			`${count(wrong)} wrong; no classifier was trained on what it read`,
		),
		fact(
			"throughput",
			`${counted((1_000 * answers.given) / durationMs, "image")}/s`,
			"strong",
			`${duration(durationMs)} in all; one call ${duration(run.p50Ms)}, p99 ${duration(run.p99Ms)}`,
		),
		fact(
			"restarts",
			count(statistics.restarts),
			"strong",
			`${healing.workerId}: pid ${healing.killedPid} killed, pid ${healing.newPid} ready ${duration(healing.durationMs)} later`,
		),
		fact(
			"left",
			counted(leftovers.length, "process", "processes"),
			leftovers.length === 0 ? "good" : "bad",
			`by group or marker, of ${count(findings.lookedAt)} looked at`,
		),
	];
	return [
		...facts.flatMap((line) => fold(line, columns)),
		...leftovers.map(drawLeftover),
	];
}

function fold(fact: Fact, columns: number): Line[] {
	const [name, value, details] = fact;
	if (widthOf(fact) <= columns) return [fact];
	return [
		[name, value],
		[["plain", " ".repeat(WIDTH - 2)], details],
	];
}

const WIDTH = 13;

type Fact = readonly [name: Piece, value: Piece, details: Piece];

function fact(name: string, value: string, tone: Tone, details = ""): Fact {
	return [
		["faint", name.padEnd(WIDTH)],
		[tone, value],
		["faint", details === "" ? "" : `  ${details}`],
	];
}
