import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ProcessIdentity } from "../identity.ts";
import { INCARNATION_VARIABLE, MARKER_VARIABLE } from "../marker.ts";
import type { Answer } from "../os/fork/answer.ts";
import { ForkLine } from "../os/fork/fork-line.ts";
import { removePath } from "../os/remove-path.ts";
import { afterRunning } from "../patience.ts";
import type { ProtectionContext } from "../protection.ts";
import type { ProcessExit, ProcessSpec, StartedProcess } from "../world.ts";

/** A chain starts in a few milliseconds; this is for a very busy machine. */
const READY_LIMIT_MS = 20_000;
/** What is left at the end of a run is killed at once. A process stuck in the kernel is not waited for. */
const END_LIMIT_MS = 5_000;
/** Of those that a worker can be given. */
export const HIGHEST_DESCRIPTOR = 7;

/** One chain of guards, from its start to its end. */
export class GuardChain {
	/** The outer guard: this host's child. */
	readonly pid: number;
	/** Resolves with how the outer guard ended. From the first sign of its end, the chain gets no more requests. */
	readonly ended: Promise<ProcessExit>;
	readonly #context: ProtectionContext;
	/** Of the outer guard; `undefined` if it cannot be read. */
	readonly #identity: ProcessIdentity | undefined;
	readonly #socketPath: string;
	readonly #line: ForkLine;
	readonly #ready = Promise.withResolvers<void>();

	private constructor(
		context: ProtectionContext,
		child: ChildProcess,
		socketPath: string,
		lost: () => void,
	) {
		this.#context = context;
		this.pid = child.pid ?? 0;
		// In the turn of its spawn, before Node can have reaped it.
		const seen = context.host.observe(this.pid);
		this.#identity = typeof seen === "string" ? undefined : seen;
		this.#socketPath = socketPath;
		const lifeline = child.stdio[4] as Duplex;
		this.ended = new Promise((resolve) => {
			child.once("exit", (code, signal) => {
				this.#line.lose(new Error("the guard has ended"));
				resolve(
					signal === null
						? { kind: "code", code: code ?? 0 }
						: { kind: "signal", signal },
				);
			});
		});
		child.on("error", () => {}); // A signal that could not be sent; `exited` reports its end.
		// No data comes here; an error means that the guard has ended.
		lifeline.on("error", () => {});
		this.#line = new ForkLine({
			connection: child.stdio[3] as Socket,
			socketPath,
			source: "guard",
			highestDescriptor: HIGHEST_DESCRIPTOR,
			host: context.host,
			clock: context.clock,
			answered: (answer) => this.#answered(answer),
			lost: (error) => {
				lost();
				this.#ready.reject(error);
			},
			broken: () => this.kill(),
		});
		// An idle pool does not hold the program open.
		child.unref();
		(lifeline as Socket).unref();
		this.#ready.promise.catch(() => {}); // The caller of `start` gets the rejection.
	}

	/**
	 * Starts a chain; resolves when it can start workers.
	 *
	 * @param program the native binary.
	 * @param socketPath a short path in a private directory, which does not exist yet.
	 * @param incidents the file for what it does while no host lives.
	 * @param lost called once, when it can take no more requests.
	 * @throws Error with the reason; nothing is left then.
	 */
	static async start(
		context: ProtectionContext,
		program: string,
		socketPath: string,
		incidents: string,
		lost: () => void,
	): Promise<GuardChain> {
		const child = spawn(
			program,
			[
				"guard",
				...["--socket", socketPath],
				...["--incidents", incidents],
				...["--run-id", context.runId],
			],
			{
				detached: true,
				cwd: "/",
				env: unmarked(process.env),
				// Inherits only the connection and the lifeline of the host.
				stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
			},
		);
		if (child.pid === undefined) throw await refusal(child);
		const chain = new GuardChain(context, child, socketPath, lost);
		await chain.#whenReady();
		return chain;
	}

	get isLost(): boolean {
		return this.#line.isLost;
	}

	/** Whether workers can be started: not once something has removed its socket. */
	get isReachable(): boolean {
		return this.#line.isReachable;
	}

	/** Starts a worker; see {@link ProcessSource.start}. */
	fork(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		return this.#line.fork(spec, record);
	}

	/** Ends it and everything below it; resolves when it has ended. */
	async end(): Promise<ProcessExit> {
		// A chain that is lost is ending by itself.
		this.#line.end();
		const limit = this.#context.clock.after(END_LIMIT_MS, () => this.kill());
		const letGo = this.#context.host.keepAlive();
		try {
			return await this.ended;
		} finally {
			letGo();
			limit.cancel();
			removePath(this.#socketPath);
		}
	}

	/** Kills the outer guard, whereupon the inner one kills everything and ends. */
	kill(): void {
		// Node reaps several children before it reports the first: the pid may belong to another process by now.
		if (this.#identity !== undefined)
			this.#context.host.signal(this.#identity, "SIGKILL");
	}

	async #whenReady(): Promise<void> {
		const { clock, host } = this.#context;
		const limit = afterRunning(clock, READY_LIMIT_MS, () =>
			this.#ready.reject(
				new Error(`the guard was not ready within ${READY_LIMIT_MS} ms`),
			),
		);
		const letGo = host.keepAlive();
		try {
			await this.#ready.promise;
		} catch (error) {
			this.kill();
			await this.ended;
			throw error;
		} finally {
			letGo();
			limit.cancel();
		}
	}

	#answered(answer: Answer): void {
		if (answer.type === "ready") this.#ready.resolve();
		else if (answer.type === "crashed")
			this.#line.lose(new Error(`the guard failed: ${answer.reason}`));
	}
}

/** Leaves out the markers of any run: a search for descendants of workers must not find a guard. */
function unmarked(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	const {
		[MARKER_VARIABLE]: _marker,
		[INCARNATION_VARIABLE]: _incarnation,
		...rest
	} = env;
	return rest;
}

function refusal(child: ChildProcess): Promise<Error> {
	return new Promise((resolve) => {
		child.once("error", resolve);
	});
}
