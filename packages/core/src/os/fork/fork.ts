import { statSync } from "node:fs";
import { constants } from "node:os";
import { isAbsolute } from "node:path";
import type { Clock } from "../../contract/clock.ts";
import { ForkLost } from "../../contract/errors.ts";
import type { ProcessExit, ProcessIdentity } from "../../contract/identity.ts";
import type {
	OwnGroup,
	ProcessHost,
	ProcessSpec,
	StartedProcess,
} from "../../contract/world.ts";
import { connectedDescriptors, DescriptorConnections } from "../descriptors.ts";
import { commandOf } from "../launcher.ts";
import { spawnFailed, systemError, unidentified } from "../spawn-failure.ts";
import { ForkedProcess } from "./forked-process.ts";
import type { AnswerOf, Request } from "./request.ts";

/** What a fork needs of its line. */
interface ForkContext {
	readonly socketPath: string;
	/** The name of the process source. */
	readonly source: string;
	readonly host: ProcessHost;
	readonly clock: Clock;
	/** Returns false when the request is too long for it. */
	send(request: Request): boolean;
	/** This start has ended: no more answers are expected. */
	forget(id: number): void;
	/** A connection was refused or broken off: a sign that the process that forks ends. */
	deserted(error: Error): void;
}

/** Errors of a connection that no worker has yet. The process that forks reads from each, and closes none before. */
const DESERTED: readonly string[] = ["ECONNREFUSED", "ECONNRESET", "EPIPE"];

type State =
	| { readonly step: "asked" }
	| {
			readonly step: "released";
			readonly identity: ProcessIdentity;
			readonly group: OwnGroup;
	  }
	| { readonly step: "running"; readonly process: ForkedProcess }
	| { readonly step: "over" };

/** One worker of another process, from the request to start it until its end was seen. */
export class Fork {
	/** Settles when the program runs, or cannot. */
	readonly started: Promise<StartedProcess>;
	readonly #resolve: (process: StartedProcess) => void;
	readonly #reject: (error: unknown) => void;
	readonly #id: number;
	readonly #spec: ProcessSpec;
	readonly #record: (identity: ProcessIdentity) => void;
	readonly #line: ForkContext;
	readonly #connections: DescriptorConnections;
	#state: State = { step: "asked" };

	constructor(
		id: number,
		label: string | undefined,
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
		line: ForkContext,
	) {
		const { promise, resolve, reject } =
			Promise.withResolvers<StartedProcess>();
		this.started = promise;
		this.#resolve = resolve;
		this.#reject = reject;
		this.#id = id;
		this.#spec = spec;
		this.#record = record;
		this.#line = line;
		const numbers = connectedDescriptors(spec);
		const refusal = this.#ask(label, numbers);
		this.#connections = new DescriptorConnections(
			line.socketPath,
			id,
			refusal === undefined ? numbers : [],
			(error) => {
				this.#fail(spawnFailed(error, spec));
				if (DESERTED.includes(error.code ?? "")) line.deserted(error);
			},
			spec.unobserved,
		);
		if (refusal !== undefined) this.#fail(spawnFailed(refusal, spec));
	}

	/** Whether more answers are expected. */
	get isGoing(): boolean {
		return this.#state.step !== "over";
	}

	/** Takes what the process that forks reports about it. */
	answered(answer: AnswerOf): void {
		switch (answer.type) {
			case "held":
				if (this.#state.step === "asked") this.#held(answer.pid);
				return;
			case "running":
				this.#run();
				return;
			case "failed":
				this.#fail(
					spawnFailed(
						answer.errno === 0
							? new Error(answer.message)
							: systemError(answer.errno, this.#spec.executable),
						this.#spec,
					),
				);
				return;
			case "exited":
				this.#run();
				this.#exited(answer.exit);
				return;
		}
	}

	/** The process that forks is gone: so is the process, or about to be. */
	lost(error: Error): void {
		if (this.#state.step === "running")
			this.#state.process.lost(this.#line.clock);
		else
			this.#fail(new ForkLost(this.#spec.executable, this.#line.source, error));
	}

	/** Sends the request; returns why that is impossible. */
	#ask(
		label: string | undefined,
		descriptors: readonly number[],
	): NodeJS.ErrnoException | undefined {
		try {
			const program = programText(this.#spec);
			const sent = this.#line.send({
				type: "start",
				id: this.#id,
				label: label ?? "",
				...program,
				descriptors,
			});
			return sent
				? undefined
				: systemError(constants.errno.E2BIG, this.#spec.executable);
		} catch (error) {
			return error as NodeJS.ErrnoException;
		}
	}

	#held(pid: number): void {
		const observation = this.#line.host.observe(pid);
		if (typeof observation === "string") {
			this.#fail(unidentified(pid, this.#spec));
			return;
		}
		const group = this.#line.host.ownGroup(observation, this.#spec);
		try {
			this.#record(observation);
		} catch (error) {
			this.#fail(error);
			return;
		}
		this.#state = { step: "released", identity: observation, group };
		this.#line.send({ type: "go", id: this.#id });
	}

	#run(): void {
		if (this.#state.step !== "released") return;
		const { group, identity } = this.#state;
		const process = new ForkedProcess(
			group,
			identity,
			this.#connections.release(),
			this.#spec,
			this.#line,
		);
		this.#state = { step: "running", process };
		this.#resolve(process);
	}

	#exited(exit: ProcessExit): void {
		if (this.#state.step !== "running") return;
		// While its pid is kept, the members of its group can be proven.
		this.#state.process.ended(exit);
		this.#line.send({ type: "reap", id: this.#id });
		this.#over();
	}

	#fail(error: unknown): void {
		if (this.#state.step === "running" || this.#state.step === "over") return;
		this.#connections.destroy();
		this.#line.send({ type: "discard", id: this.#id });
		this.#over();
		this.#reject(error);
	}

	#over(): void {
		this.#state = { step: "over" };
		this.#line.forget(this.#id);
	}
}

/**
 * The program as the system would get it from Node itself: text is made
 * well-formed, and a variable's name ends at the first `=`.
 *
 * @throws TypeError where it contains a NUL, as `child_process` does.
 */
function programText(spec: ProcessSpec) {
	const variables = Object.entries(spec.env)
		.map(([name, value]) => text(`${name}=${value}`))
		.filter((entry) => !entry.startsWith("="));
	const { executable, args } = commandOf(spec);
	return {
		executable: text(executable),
		args: args.map(text),
		variables,
		cwd: text(workingDirectory(spec.cwd)),
	};
}

function text(value: string): string {
	if (value.includes("\0"))
		throw new TypeError(
			`${JSON.stringify(value.slice(0, 80))} contains a NUL character, which no program can be given`,
		);
	return value.toWellFormed();
}

/** Where a program begins: what forks it has a directory of its own, so that it needs a path. */
function workingDirectory(cwd: string | undefined): string {
	if (cwd !== undefined && isAbsolute(cwd)) return cwd;
	return cwd === undefined ? ownDirectory() : `${ownDirectory()}/${cwd}`;
}

/** A directory that was removed, or replaced at its path, is still this program's; then only the system names it. */
function ownDirectory(): string {
	try {
		const path = process.cwd(); // As Node remembers it.
		const [there, here] = [statSync(path), statSync(".")];
		if (there.dev === here.dev && there.ino === here.ino) return path;
	} catch {
		// Removed.
	}
	return `/proc/${process.pid}/cwd`;
}
