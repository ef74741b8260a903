import type { Readable } from "node:stream";
import type { Clock } from "../contract/clock.ts";
import type { SnakepitEvent, WorkerRef } from "../contract/events.ts";
import type { ProcessHost, StartedProcess } from "../contract/world.ts";
import type { ResolvedOptions } from "../options/pool-options.ts";
import { readLines } from "../process/output-lines.ts";
import { OutputTail } from "../process/output-tail.ts";
import { LAST_LINES_MS } from "../process/read-output.ts";
import { AwaitedLines, type OutputName } from "./awaited-lines.ts";

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
		await new Promise<void>((resolve) => {
			const timer = this.#clock.after(LAST_LINES_MS, resolve);
			void this.#ended.then(() => {
				timer.cancel();
				resolve();
			});
		});
	}

	/** Reads no more: what a leftover prints is not the worker's any more. */
	close(): void {
		for (const stream of this.#streams) stream.destroy();
	}
}
