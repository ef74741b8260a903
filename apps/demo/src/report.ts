import type { PoolStatistics } from "@snakepit/core";
import { count, counted, duration, percent } from "./figures.ts";
import { type Line, plain, type Tone, widthOf } from "./line.ts";
import type { Leftover } from "./processes.ts";
import type { Answers } from "./read-digits.ts";

/** How a worker was killed and replaced. */
export interface Replacement {
	readonly workerId: string;
	readonly killedPid: number;
	readonly newPid: number;
	/** From the signal until the new process was ready. */
	readonly durationMs: number;
}

/** What a run of the demo has found. */
export interface Findings extends Answers {
	readonly replacement: Replacement;
	readonly statistics: PoolStatistics;
	readonly leftovers: readonly Leftover[];
	/** How many processes of the system were looked at. */
	readonly lookedAt: number;
}

/** Whether the demo kept its promise: every image answered exactly once, and nothing left. */
export function isAsPromised(findings: Findings): boolean {
	const { images, once, statistics, leftovers } = findings;
	const { accepted, succeeded } = statistics.calls;
	return once === images && succeeded === accepted && leftovers.length === 0;
}

/** One fact a line; the details of one that is too wide get a line of their own. */
export function drawReport(findings: Findings, columns: number): Line[] {
	const { images, once, right, durationMs, replacement } = findings;
	const { statistics, leftovers, lookedAt } = findings;
	const { workerId, killedPid, newPid } = replacement;
	const facts: [name: string, value: string, tone: Tone, details: string][] = [
		[
			"answered",
			`${count(once)} of ${counted(images, "image")} exactly once`,
			once === images ? "good" : "bad",
			"",
		],
		[
			"accuracy",
			percent(right, images),
			"strong",
			`${count(images - right)} wrong; no classifier was trained on what it read`,
		],
		[
			"throughput",
			`${counted((1_000 * images) / durationMs, "image")}/s`,
			"strong",
			`${duration(durationMs)} in all; one call ${duration(statistics.run.p50Ms)}, p99 ${duration(statistics.run.p99Ms)}`,
		],
		[
			"restarts",
			count(statistics.restarts),
			"strong",
			`${workerId}: pid ${killedPid} killed, pid ${newPid} ready ${duration(replacement.durationMs)} later`,
		],
		[
			"left",
			counted(leftovers.length, "process", "processes"),
			leftovers.length === 0 ? "good" : "bad",
			`by group or marker, of ${count(lookedAt)} looked at`,
		],
	];
	const lines = facts.flatMap(([name, value, tone, details]) => {
		const fact: Line = [
			["faint", name.padEnd(13)],
			[tone, value],
		];
		const wide: Line = [...fact, ["faint", details && `  ${details}`]];
		if (widthOf(wide) <= columns) return [wide];
		return [fact, plain(`${" ".repeat(13)}${details}`)];
	});
	return [...lines, ...drawLeftovers(leftovers)];
}

export function drawLeftovers(leftovers: readonly Leftover[]): Line[] {
	return leftovers.map(({ pid, foundBy, command }) => [
		["bad", `  pid ${pid}`],
		["plain", `, found by its ${foundBy}: ${command.slice(0, 120)}`],
	]);
}
