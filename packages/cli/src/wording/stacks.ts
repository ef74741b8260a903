import type { StacksSnapshot } from "@snakepit/control";
import { bridgeFramesText, framesOfBridge } from "@snakepit/core/text";
import { counted, duration, plainText, timeOfDay } from "./figures.ts";

/** One thread of a Python worker, or one coroutine that waits in its event loop. */
export interface ThreadStack {
	/** As Python names it, otherwise its number. */
	readonly name: string;
	/** `"bridge"`: it runs nothing but the bridge's own code, as while no call is there for it. */
	readonly runs: "tools" | "bridge";
	/** The lines of its frames, the innermost first. */
	readonly frames: readonly string[];
	/** How many frames of the bridge are below them, and left out. */
	readonly below: number;
}

const BEGIN = /^snakepit stacks begin/;
const NAMES = / (0x[0-9a-f]+)=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")/g;
/** A call that waits in the event loop. */
const COROUTINE = /^(Coroutine of .*) \(most recent call first\):$/;
const THREAD =
	/^(?:Current thread|Thread) (0x[0-9a-f]+)(?: \[([^\]]*)\])? .*:$/;
/**
 * The threads of a dump of `faulthandler`: those that run tools first, the main thread before others. Empty if the lines
 * are something else, as of a program that is not Python.
 */
export function threadsOf(lines: readonly string[]): readonly ThreadStack[] {
	const begin = lines.find((line) => BEGIN.test(line)) ?? "";
	const names = new Map(
		[...begin.matchAll(NAMES)].map(([, id = "", name = ""]) => [
			Number(id),
			name.slice(1, -1),
		]),
	);
	const threads: { readonly name: string; readonly frames: string[] }[] = [];
	for (const line of lines) {
		const [, id, native] = THREAD.exec(line) ?? [];
		const [, coroutine] = COROUTINE.exec(line) ?? [];
		if (coroutine !== undefined) threads.push({ name: coroutine, frames: [] });
		else if (id !== undefined)
			threads.push({ name: names.get(Number(id)) ?? native ?? id, frames: [] });
		else if (line.startsWith("  ")) threads.at(-1)?.frames.push(line);
	}
	const all = threads.map(threadStack);
	return [
		...all.filter(({ runs, name }) => runs === "tools" && name === MAIN),
		...all.filter(({ runs, name }) => runs === "tools" && name !== MAIN),
		...all.filter(({ runs }) => runs === "bridge"),
	];
}

const MAIN = "MainThread";

function threadStack({
	name,
	frames,
}: {
	readonly name: string;
	readonly frames: readonly string[];
}): ThreadStack {
	const below = framesOfBridge(frames);
	if (frames.length > 0 && below === frames.length)
		return { name, runs: "bridge", frames, below: 0 };
	return {
		name,
		runs: "tools",
		frames: frames.slice(0, frames.length - below),
		below,
	};
}

/** The stacks of a worker, as lines for people. */
export function stacksLines(stacks: StacksSnapshot): readonly string[] {
	const { workerId, pid, wallMs, running, how, lines } = stacks;
	const calls =
		running.length === 0
			? "runs no call"
			: `runs ${running.map(({ command, callId, forMs }) => `${command} (${callId}, for ${duration(forMs)})`).join(", ")}`;
	const threads = threadsOf(lines);
	const ofTools = threads.filter(({ runs }) => runs === "tools");
	const ofBridge = threads.length - ofTools.length;
	return [
		`${workerId} (pid ${pid}) at ${timeOfDay(wallMs)}: ${calls}.`,
		...(how === "forced"
			? [
					"Nothing in it reacted, as when code in C holds Python's lock (GIL): the handler of a signal wrote these stacks.",
				]
			: []),
		...(threads.length === 0
			? ["", ...lines]
			: ofTools.flatMap(({ name, frames, below }) => [
					"",
					`${name} (most recent call first):`,
					...frames,
					...(below > 0 ? [bridgeFramesText(below)] : []),
				])),
		...(ofBridge > 0
			? [
					"",
					`${ofTools.length === 0 ? "No thread runs code of the tools; " : ""}${counted(ofBridge, "thread")} of the bridge ${ofBridge === 1 ? "waits" : "wait"} (--json shows ${ofBridge === 1 ? "it" : "them"}).`,
				]
			: []),
	].map(plainText);
}
