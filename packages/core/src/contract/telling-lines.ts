/**
 * What a line is in the output of a program that dies: its own words, the frames of the thread that failed, or other frames
 * and what interpreters print around them.
 */
export type LineKind = "own" | "failed_thread" | "frames";

/** Of Python, after a crash: every module in C that it has loaded, which are some thousand characters. */
const MODULES = /^Extension modules: /;
/** What each begins, with the line itself. */
const BEGINS: readonly (readonly [RegExp, LineKind])[] = [
	// Python's faulthandler.
	[/^Current thread 0x[0-9a-f]+.*\(most recent call first\):/, "failed_thread"],
	[/^Thread 0x[0-9a-f]+.*\(most recent call first\):/, "frames"],
	[/^Current thread's C stack trace/, "frames"],
	// Python's tracebacks.
	[
		/^\s*(?:\+ Exception Group )?Traceback \(most recent call last\):/,
		"frames",
	],
	// Node and Java.
	[/^\s+at \S/, "frames"],
	// Go.
	[/^goroutine \d+ \[/, "frames"],
	[MODULES, "frames"],
];
/** What tells nothing about the end of any program. */
const SILENT =
	/^(?:Python runtime state: |Node\.js v\d|exit status \d+$|[}\]^~|\s]*$|The above exception was the direct cause of|During handling of the above exception)/;

/** Tells the lines of an output apart, one after the other. */
export class LineKinds {
	/** Of the frames that began last, while lines are part of them. */
	#frames: LineKind | undefined;

	next(line: string): LineKind {
		const begun = BEGINS.find(([pattern]) => pattern.test(line))?.[1];
		if (begun !== undefined) {
			this.#frames = begun;
			return begun;
		}
		if (/^\s+\S/.test(line) && this.#frames !== undefined) return this.#frames;
		const isBelowFrames = line === "" && this.#frames !== undefined;
		this.#frames = PYTHON_FATAL.test(line) ? "frames" : undefined;
		return isBelowFrames ? "frames" : "own";
	}
}

const PYTHON_FATAL = /^Fatal Python error: /;
/** The first line of a crash in Go, Rust or C++, with many below it. */
const FIRST =
	/^(?:panic: |fatal error: |thread '.*' .*panicked at |terminate called )/;
export const PYTHON_FRAME: RegExp = /^\s+File "(.+)", line (\d+),? in (.+)$/;
/** Of Python itself, of an installed package, or of the bridge. */
export const FOREIGN_PYTHON: RegExp =
	/\/lib(?:64)?\/python\d|site-packages|dist-packages|<frozen |snakepit_bridge/;

/**
 * The line of a program's last output that tells most about its end; `undefined` where there is none. Where the output
 * ends in the stacks of a Python program, as that of one that hung, this is where the tool stood.
 */
export function tellingLine(lines: readonly string[]): string | undefined {
	const kinds = new LineKinds();
	const told = lines.map((line) => ({ line, kind: kinds.next(line) }));
	const speaking = told.filter(
		({ line, kind }) => kind !== "own" || !SILENT.test(line),
	);
	const own = speaking.filter(({ kind }) => kind === "own");
	const fatal = own.findLast(({ line }) => PYTHON_FATAL.test(line));
	const placeIn = (frames: LineKind): string | undefined =>
		told
			.filter(({ kind }) => kind === frames)
			.flatMap(({ line }) => {
				const [, file = "", number, name] = PYTHON_FRAME.exec(line) ?? [];
				return file === "" || FOREIGN_PYTHON.test(file)
					? []
					: [`at ${file}:${number} in ${name}`];
			})[0];
	const place = placeIn("failed_thread");
	if (fatal !== undefined)
		return place === undefined ? fatal.line : `${fatal.line}, ${place}`;
	if (speaking.at(-1)?.kind !== "own") {
		// Several calls of a worker run in threads, and its main thread waits.
		const stood = place ?? placeIn("frames");
		if (stood !== undefined) return stood;
	}
	const first = own.findLast(({ line }) => FIRST.test(line));
	return (first ?? own.at(-1))?.line ?? lines.findLast((line) => line.trim());
}

const THREAD = /\(most recent call first\):$/;
/** What a line of a program's output has before it in the message of an error. */
const QUOTED = /^ {2}\| /;
const BRIDGE = /[/\\]snakepit_bridge[/\\]/;
/** The standard library, and not what is installed in it. */
const STANDARD =
	/File "(?:<frozen |(?!.*site-packages)[^"]*[/\\]lib[/\\]python3\.\d+[/\\])/;

/**
 * How many of the outermost frames of a thread are the bridge's, and Python's own between and below them: all of them in a
 * thread that runs no code of tools.
 *
 * @param frames the innermost first.
 */
export function framesOfBridge(frames: readonly string[]): number {
	if (!frames.some((frame) => BRIDGE.test(frame))) return 0;
	const isOurs = (frame: string): boolean =>
		BRIDGE.test(frame) || STANDARD.test(frame);
	return frames.length - 1 - frames.findLastIndex((frame) => !isOurs(frame));
}

/** What stands for so many frames of the bridge. */
export function bridgeFramesText(count: number): string {
	return `  … ${count} frame${count === 1 ? "" : "s"} of the bridge`;
}

/**
 * Lines of output, or of a message that quotes them, in which the frames of the bridge in the stacks of threads are one
 * line. They stay where no thread runs code of tools.
 */
export function foldedFrames(lines: readonly string[]): readonly string[] {
	const parts: { readonly lines: string[]; readonly of: "thread" | "text" }[] =
		[];
	for (const line of lines) {
		const text = line.replace(QUOTED, "");
		const last = parts.at(-1);
		const isFrame = PYTHON_FRAME.test(text);
		if (THREAD.test(text)) parts.push({ lines: [line], of: "thread" });
		else if (last === undefined || (last.of === "thread" && !isFrame))
			parts.push({ lines: [line], of: "text" });
		else last.lines.push(line);
	}
	const threads = parts.filter(({ of }) => of === "thread");
	const runsTools = ({ lines: [, ...frames] }: (typeof parts)[number]) =>
		framesOfBridge(frames) < frames.length;
	if (!threads.some(runsTools)) return lines;
	return parts.flatMap(({ lines: [first = "", ...rest], of }) => {
		const below = of === "thread" ? framesOfBridge(rest) : 0;
		if (below === 0) return [first, ...rest];
		const quoted = QUOTED.exec(first)?.[0] ?? "";
		return [first, ...rest.slice(0, -below), quoted + bridgeFramesText(below)];
	});
}

/**
 * Where the program's own code stood: the innermost of its frames in the thread that failed, in any other thread, or in a
 * traceback. `undefined` where no line says it.
 */
function ownFrame(lines: readonly string[]): string | undefined {
	const texts = lines.map((line) => line.replace(QUOTED, ""));
	const isOwn = (text: string): boolean =>
		PYTHON_FRAME.test(text) && !FOREIGN_PYTHON.test(text);
	const kinds = new LineKinds();
	const failed = texts.map((text) => kinds.next(text) === "failed_thread");
	const inFailed = texts.findIndex((text, at) => failed[at] && isOwn(text));
	if (inFailed >= 0) return lines[inFailed];
	const isStack = texts.some((text) => THREAD.test(text));
	return lines[isStack ? texts.findIndex(isOwn) : texts.findLastIndex(isOwn)];
}

/**
 * A text that is limited in its characters: both ends of it, because a message ends with what to do next, and a traceback
 * with the line that failed. Frames of the bridge and lists of modules give way first, and the innermost frame of the
 * program's own code never does.
 */
export function bothEnds(text: string, most: number): string {
	if (text.length <= most) return text;
	const lines = foldedFrames(
		text.split("\n").filter((line) => !MODULES.test(line.replace(QUOTED, ""))),
	);
	const short = lines.join("\n");
	if (short.length <= most) return short;
	const own = ownFrame(lines)?.slice(0, Math.floor(most / 2));
	const half = Math.floor((most - (own?.length ?? 0)) / 2);
	const ends = [short.slice(0, half), short.slice(-half)];
	return own === undefined || ends.some((end) => end.includes(own))
		? `${short.slice(0, Math.floor(most / 2))} … ${short.slice(-Math.floor(most / 2))}`
		: `${ends[0]} …\n${own}\n… ${ends[1]}`;
}

/** Five frames of Python's own stand between a module and the one that imports it. */
const IMPORT_SYSTEM = /^\s+File "<frozen importlib/;

/** Half of it at most is frames, where there are words of the program's own for the other half. */
function shares(
	own: number,
	frames: number,
	most: number,
): { readonly own: number; readonly frames: number } {
	const half = Math.floor(most / 2);
	const forFrames = Math.min(frames, Math.max(half, most - own));
	return { own: most - forFrames, frames: forFrames };
}

/**
 * The last lines, limited in their total number of characters, so that the frames of a crash do not push out what the
 * program said before it. Of a line that does not fit, its end.
 */
export function lastCharacters(
	lines: readonly string[],
	most: number,
): readonly string[] {
	const total = lines.reduce((sum, { length }) => sum + Math.max(1, length), 0);
	const kinds = new LineKinds();
	const told = (total <= most ? lines : foldedFrames(lines)).map((line) => ({
		...{ line, kind: kinds.next(line) },
	}));
	const size = (which: (kind: LineKind) => boolean): number =>
		told.reduce(
			(sum, { line, kind }) =>
				which(kind) ? sum + Math.max(1, line.length) : sum,
			0,
		);
	const share = shares(
		size((kind) => kind === "own"),
		size((kind) => kind !== "own"),
		most,
	);
	const kept: string[] = [];
	let [own, frames] = [share.own, share.frames];
	// The innermost frame of the program's own code comes first, and then those of the thread that failed.
	const failed = told.filter(({ kind }) => kind === "failed_thread");
	const fitsWhole = size((kind) => kind === "failed_thread") <= frames;
	const fits = new Set<object>();
	const place = ownFrame(told.map(({ line }) => line));
	const innermost = told.find(
		({ line, kind }) => kind !== "own" && line === place,
	);
	if (innermost !== undefined && innermost.line.length <= frames) {
		fits.add(innermost);
		frames -= innermost.line.length;
	}
	for (const each of failed) {
		if (each === innermost) continue;
		if (!fitsWhole && IMPORT_SYSTEM.test(each.line)) continue;
		if (each.line.length > frames) break;
		fits.add(each);
		frames -= Math.max(1, each.line.length);
	}
	for (const each of told.toReversed()) {
		const { line, kind } = each;
		if (MODULES.test(line)) continue;
		const length = Math.max(1, line.length);
		if (fits.has(each)) kept.unshift(line);
		else if (kind === "own") {
			if (own > 0) kept.unshift(line.slice(-own));
			own -= length;
		} else if (kind === "frames") {
			if (frames > 0) kept.unshift(line.slice(-frames));
			frames -= length;
		}
	}
	return kept;
}
