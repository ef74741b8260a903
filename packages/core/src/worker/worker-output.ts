import type { Readable } from "node:stream";
import type { Clock } from "../contract/clock.ts";
import type { SnakepitEvent, WorkerRef } from "../contract/events.ts";
import type { ProcessHost, StartedProcess } from "../contract/world.ts";
import { abortable, resolvesWithin } from "../deadline.ts";
import type { ResolvedOptions } from "../options/pool-options.ts";
import {
	LAST_LINES_MS,
	OutputTail,
	ReadOutput,
	readLines,
} from "../process/output.ts";
import { DUMP_MS, OWN_END_MS } from "../process/stop-ladder.ts";

/** Python's `faulthandler` writes 100 frames of a thread at most. */
const STACK_LINES = 120;

/**
 * What one worker prints: drained, emitted as events, shown to people, and kept in
 * part to explain a death.
 */
export class WorkerOutput {
	readonly tail: OutputTail;
	/** What an adapter waits for; of standard output only where that is not its conversation. */
	readonly awaited: AwaitedLines = new AwaitedLines();
	readonly #clock: Clock;
	readonly #ended: Promise<void>;
	readonly #streams: readonly Readable[];
	/** Takes lines of standard error that were asked for; returns whether this is one. */
	takesStack: (line: string) => boolean = () => false;

	/**
	 * @param ownsStdout false when standard output belongs to the adapter's conversation.
	 * @param runningCall the id of the one call that runs now; `undefined` when there is none, or several.
	 */
	constructor(
		process: StartedProcess,
		ownsStdout: boolean,
		ref: WorkerRef,
		options: ResolvedOptions["output"],
		world: {
			readonly clock: Clock;
			readonly host: ProcessHost;
			readonly emit: (event: SnakepitEvent) => void;
		},
		runningCall: () => string | undefined = () => undefined,
	) {
		this.tail = new OutputTail(options.tailLines);
		this.#clock = world.clock;
		const names: readonly OutputName[] = ownsStdout
			? ["stderr", "stdout"]
			: ["stderr"];
		this.#streams = names.map((name) => process[name]);
		const drain = (stream: OutputName): Promise<void> =>
			new Promise<void>((resolve) =>
				readLines(
					process[stream],
					options.maxLineBytes,
					({ text, cut }) => {
						if (stream === "stderr" && this.takesStack(text)) return;
						this.tail.push(text);
						this.awaited.printed(stream, text);
						world.emit({
							type: "worker.output",
							wallMs: world.clock.wall(),
							...ref,
							stream,
							line: text,
							cut,
							callId: runningCall(),
						});
						if (options.echo === "stderr")
							world.host.echo(`[${ref.workerId}] ${text}${cut ? " …" : ""}`);
					},
					resolve,
					world.clock,
				),
			).then(() => this.awaited.ended(stream));
		this.#ended = Promise.all(names.map(drain)).then(() => {});
	}

	/** The innermost lines of a stack show where the program is: they are kept beside the last ones. */
	expectStacks(): void {
		this.tail.makeRoom(STACK_LINES);
	}

	/** Resolves when all output was read, or when something else keeps it open. */
	async lastLines(): Promise<void> {
		await resolvesWithin(this.#ended, LAST_LINES_MS, this.#clock);
	}

	/** Reads no more: what a leftover prints is not the worker's any more. */
	close(): void {
		for (const stream of this.#streams) stream.destroy();
	}
}

type OutputName = "stdout" | "stderr";

/** An adapter that waits for a line is there within the first moments of a start. */
const KEPT_LINES = 200;

interface Awaited {
	readonly from: OutputName;
	/** @returns whether it was the line. */
	readonly take: (text: string) => boolean;
	readonly end: () => void;
}

/**
 * Lines that an adapter waits for, as the one in which a server says where it listens.
 * A line that was printed during the start counts too, although nothing waited for it yet.
 */
export class AwaitedLines {
	/** Of the start; `undefined` after it. */
	#kept: { readonly from: OutputName; readonly text: string }[] | undefined =
		[];
	readonly #ended = new Set<OutputName>();
	readonly #awaited = new Set<Awaited>();

	/** A line was printed. */
	printed(from: OutputName, text: string): void {
		if (this.#kept !== undefined && this.#kept.length < KEPT_LINES)
			this.#kept.push({ from, text });
		for (const each of this.#awaited)
			if (each.from === from && each.take(text)) this.#awaited.delete(each);
	}

	/** No process holds this output any more. */
	ended(from: OutputName): void {
		this.#ended.add(from);
		for (const each of this.#awaited) if (each.from === from) each.end();
	}

	/** The worker is ready: lines count only while something waits for them. */
	started(): void {
		this.#kept = undefined;
	}

	/**
	 * Resolves to the match of the first line that fits.
	 *
	 * @throws Error when the output ends before; the signal's reason when it aborts.
	 */
	async next(
		match: RegExp,
		from: OutputName,
		signal: AbortSignal,
	): Promise<RegExpExecArray> {
		signal.throwIfAborted();
		// Without the state that a global expression keeps between two texts.
		const pattern = new RegExp(match.source, match.flags.replace(/[gy]/g, ""));
		for (const line of this.#kept ?? []) {
			const result = line.from === from ? pattern.exec(line.text) : null;
			if (result !== null) return result;
		}
		const missing = (): Error =>
			new Error(`its ${from} ended before a line that matches ${match}`);
		if (this.#ended.has(from)) throw missing();
		const { promise, resolve, reject } =
			Promise.withResolvers<RegExpExecArray>();
		const awaited: Awaited = {
			from,
			take: (text) => {
				const result = pattern.exec(text);
				if (result !== null) resolve(result);
				return result !== null;
			},
			end: () => reject(missing()),
		};
		this.#awaited.add(awaited);
		try {
			return await abortable(promise, signal);
		} finally {
			this.#awaited.delete(awaited);
		}
	}
}

/** What a worker writes and its adapter reads: standard output where that is the conversation, and its streams. */
export class ConversationOutput {
	readonly #process: Pick<StartedProcess, "exited">;
	readonly #clock: Clock;
	/** Standard output, where it is the conversation. Only the adapter can say what its end means. */
	readonly stdout: ReadOutput | undefined;
	readonly #streams: readonly ReadOutput[];
	#read: Promise<void> | undefined;

	/** @param ownsStdout whether standard output is the conversation. */
	constructor(
		process: Pick<StartedProcess, "stdout" | "streams" | "exited">,
		ownsStdout: boolean,
		clock: Clock,
	) {
		this.#process = process;
		this.#clock = clock;
		this.stdout = ownsStdout
			? new ReadOutput(process.stdout, clock)
			: undefined;
		this.#streams = [...process.streams.values()].map(
			(stream) => new ReadOutput(stream, clock),
		);
	}

	/**
	 * @param onEnd standard output has ended. Most often the process ends right after it, which explains more.
	 * @param onOutlived it has ended, and the process has not.
	 */
	watch(onEnd: () => void, onOutlived: () => void): void {
		void this.stdout?.ended
			.then(onEnd)
			.then(() => resolvesWithin(this.#process.exited, OWN_END_MS, this.#clock))
			.then((gone) => {
				if (!gone) onOutlived();
			});
	}

	/** For a process that is gone: resolves when what it wrote was read, or will not be. */
	finalOutput(): Promise<void> {
		this.#read ??= this.#readToTheEnd();
		return this.#read;
	}

	async #readToTheEnd(): Promise<void> {
		const read = this.#streams.filter(({ isRead }) => isRead);
		const all = [this.stdout ?? [], read].flat();
		await Promise.all(all.map((output) => output.readToTheEnd()));
	}
}

/**
 * Has a program whose start takes too long write its stacks, which show where it
 * hangs; resolves when they are there, or will not be.
 *
 * Only where the system reports that the program handles the signal: any other
 * would die of it, and leave a core dump.
 */
export async function dumpUnreadyStacks(
	{
		process,
		output,
		dumpSignal,
	}: {
		readonly process: StartedProcess;
		readonly output: WorkerOutput;
		readonly dumpSignal: NodeJS.Signals | undefined;
	},
	{
		clock,
		host,
	}: { readonly clock: Clock; readonly host: Pick<ProcessHost, "handles"> },
): Promise<void> {
	if (dumpSignal === undefined) return;
	if (host.handles(process.identity, dumpSignal) !== "yes") return;
	output.expectStacks();
	if (process.signal(dumpSignal, "process") !== "sent") return;
	await resolvesWithin(process.exited, DUMP_MS, clock);
}
