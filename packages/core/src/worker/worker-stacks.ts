import { InputError } from "../contract/errors.ts";
import type { LaunchStacks } from "../contract/launch.ts";
import type { ProcessHost, StartedProcess, World } from "../contract/world.ts";
import { resolvesWithin } from "../deadline.ts";
import type { WorkerOutput } from "./worker-output.ts";

/** The stacks of one worker. */
export interface TakenStacks {
	/** `"asked"`: the program wrote them itself. `"forced"`: it did not react, so the handler of a signal wrote them. */
	readonly how: "asked" | "forced";
	/** As the program wrote them. */
	readonly lines: readonly string[];
}

/** A program that can run at all writes its stacks, and answers a ping, within this time. */
const ASKED_MS = 2_000;
/** The handler of a signal writes at once; with many threads, the last line comes this long after the one before. */
const FORCED_MS = 2_000;
const QUIET_MS = 250;
/** More are left out. A stack has 100 frames at most. */
const MOST_LINES = 5_000;

/** How a program is at the moment of a request, see {@link StacksOnRequest.request}. */
export interface StacksSubject {
	readonly workerId: string;
	/** Before it is ready, it may not handle the signal yet. */
	readonly state: "starting" | "started";
	/** Rejects or stays pending if nothing in the program runs; absent if it cannot be pinged. */
	readonly ping: ((signal: AbortSignal) => Promise<unknown>) | undefined;
}

/**
 * Has one program write its stacks, and finds them among the lines of its standard error. The program goes on as before.
 *
 * Its own answer is between two lines, and complete: the program writes it when nothing changes the stacks. If the
 * program does not react, it is sent the other signal, but only if it does not answer a ping either: nothing in it runs
 * then, so the stacks do not change while the handler reads them. A program that is stopped gets no signal, because the
 * handler would run when it continues.
 */
export class StacksOnRequest {
	readonly #spec: LaunchStacks;
	readonly #process: StartedProcess;
	readonly #world: {
		readonly clock: World["clock"];
		readonly host: Pick<ProcessHost, "handles" | "threads">;
	};
	#lines: string[] = [];
	/** `"owed"`: asked for, and not begun; the answer may come after the request has failed. */
	#answer: "none" | "owed" | "begun" = "none";
	#forced: "no" | "awaited" = "no";
	#answered = Promise.withResolvers<readonly string[]>();
	#wrote = Promise.withResolvers<void>();
	#request: Promise<TakenStacks> | undefined;

	constructor(
		spec: LaunchStacks,
		process: StartedProcess,
		output: Pick<WorkerOutput, "takesStack">,
		world: {
			readonly clock: World["clock"];
			readonly host: Pick<ProcessHost, "handles" | "threads">;
		},
	) {
		this.#spec = spec;
		this.#process = process;
		this.#world = world;
		output.takesStack = (line) => this.#take(line);
	}

	/**
	 * Resolves to its stacks. Requests at the same time get the same ones.
	 *
	 * @throws InputError `STACKS_UNAVAILABLE`.
	 */
	request(subject: StacksSubject): Promise<TakenStacks> {
		this.#request ??= this.#ask(subject).finally(() => {
			this.#request = undefined;
		});
		return this.#request;
	}

	async #ask(subject: StacksSubject): Promise<TakenStacks> {
		const { clock } = this.#world;
		const { signal } = this.#spec;
		this.#assertReached(subject, signal);
		// An answer that is owed will still come, and is recent enough then.
		if (this.#answer !== "begun") this.#answer = "owed";
		this.#answered = Promise.withResolvers();
		const { promise } = this.#answered;
		this.#send(subject, signal);
		const over = new AbortController();
		const ping = pinged(subject, over.signal);
		try {
			const answered = Promise.race([promise, this.#process.exited]);
			if (await resolvesWithin(answered, ASKED_MS, clock))
				return await this.#own(subject, promise);
			if (await Promise.race([ping, false])) {
				// It runs, perhaps slowly.
				if (await resolvesWithin(answered, ASKED_MS, clock))
					return await this.#own(subject, promise);
				throw unavailable(
					subject,
					`answers pings but did not react to ${signal}: something in it handles that signal`,
				);
			}
		} finally {
			over.abort();
		}
		return await this.#force(subject);
	}

	async #own(
		subject: StacksSubject,
		answer: Promise<readonly string[]>,
	): Promise<TakenStacks> {
		const lines = await Promise.race([
			answer,
			this.#process.exited.then(() => undefined),
		]);
		if (lines === undefined) throw unavailable(subject, "has ended");
		return { how: "asked", lines };
	}

	async #force(subject: StacksSubject): Promise<TakenStacks> {
		const { signal, forcedSignal } = this.#spec;
		const silent = `did not react to ${signal} within ${ASKED_MS} ms`;
		if (forcedSignal === undefined) throw unavailable(subject, silent);
		this.#assertReached(subject, forcedSignal);
		const { clock } = this.#world;
		this.#lines = [];
		this.#wrote = Promise.withResolvers();
		this.#forced = "awaited";
		try {
			this.#send(subject, forcedSignal);
			for (
				let limitMs = FORCED_MS;
				await resolvesWithin(this.#wrote.promise, limitMs, clock);
				limitMs = QUIET_MS
			)
				this.#wrote = Promise.withResolvers();
		} finally {
			this.#forced = "no";
		}
		if (this.#lines.length === 0)
			throw unavailable(
				subject,
				`${silent}, and wrote nothing after ${forcedSignal} either: it waits in the kernel, or its standard error is closed`,
			);
		return { how: "forced", lines: this.#lines };
	}

	#take(line: string): boolean {
		const { begin, end, line: stack } = this.#spec;
		if (this.#answer === "owed" && begin.test(line)) {
			this.#answer = "begun";
			this.#lines = [];
		} else if (this.#answer === "begun" && end.test(line)) {
			this.#answer = "none";
			this.#answered.resolve(this.#lines);
			return true;
		} else {
			const awaited = this.#answer === "begun" || this.#forced === "awaited";
			if (!awaited || !stack.test(line)) return false;
		}
		if (this.#lines.length < MOST_LINES) this.#lines.push(line);
		this.#wrote.resolve();
		return true;
	}

	/** @throws InputError if the signal would end the program, or be handled only when it continues. */
	#assertReached(subject: StacksSubject, signal: NodeJS.Signals): void {
		const { host } = this.#world;
		const { identity } = this.#process;
		const handles = host.handles(identity, signal);
		if (handles === "no" || (handles === "unknown" && isStarting(subject)))
			throw unavailable(
				subject,
				isStarting(subject)
					? "has only begun to start, and cannot write its stacks yet"
					: `does not handle ${signal} any more: something in it has changed that`,
			);
		const threads = host.threads(identity.pid);
		const held = threads.find(
			({ held }) => held === "stopped" || held === "traced",
		);
		if (held !== undefined)
			throw unavailable(
				subject,
				held.held === "traced"
					? "is held by a debugger, which can show its stacks"
					: "is stopped by a signal, and can write its stacks only when it continues (SIGCONT)",
			);
	}

	#send(subject: StacksSubject, signal: NodeJS.Signals): void {
		const outcome = this.#process.signal(signal, "process");
		if (outcome === "sent") return;
		throw unavailable(
			subject,
			outcome === "refused"
				? "may not be sent a signal by this program"
				: "has ended",
		);
	}
}

function isStarting({ state }: StacksSubject): boolean {
	return state === "starting";
}

/** Resolves to true with an answer; never rejects, and stays pending without one. */
function pinged(
	{ ping }: StacksSubject,
	signal: AbortSignal,
): Promise<boolean> {
	const never = new Promise<never>(() => {});
	return ping === undefined
		? never
		: ping(signal).then(
				() => true,
				() => never,
			);
}

function unavailable({ workerId }: StacksSubject, why: string): InputError {
	return new InputError({
		code: "STACKS_UNAVAILABLE",
		ran: "no",
		message: `Worker ${workerId} ${why}.`,
	});
}
