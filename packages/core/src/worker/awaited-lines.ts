export type OutputName = "stdout" | "stderr";

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
			const found = line.from === from ? pattern.exec(line.text) : null;
			if (found !== null) return found;
		}
		const missing = (): Error =>
			new Error(`its ${from} ended before a line that matches ${match}`);
		if (this.#ended.has(from)) throw missing();
		const { promise, resolve, reject } =
			Promise.withResolvers<RegExpExecArray>();
		const awaited: Awaited = {
			from,
			take: (text) => {
				const found = pattern.exec(text);
				if (found !== null) resolve(found);
				return found !== null;
			},
			end: () => reject(missing()),
		};
		const abort = (): void => reject(signal.reason);
		signal.addEventListener("abort", abort, { once: true });
		this.#awaited.add(awaited);
		try {
			return await promise;
		} finally {
			this.#awaited.delete(awaited);
			signal.removeEventListener("abort", abort);
		}
	}
}
