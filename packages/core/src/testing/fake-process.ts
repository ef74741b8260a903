import { Duplex, PassThrough, type Readable, type Writable } from "node:stream";
import type { ProcessExit, ProcessIdentity } from "../contract/identity.ts";
import type {
	ProcessFacts,
	ProcessSpec,
	SignalOutcome,
	ThreadFacts,
} from "../contract/world.ts";
import type { FakeMachine } from "./fake-process-host.ts";

/**
 * A scripted program: what runs as the main function of a fake process.
 *
 * The process ends with code 0 when it returns or its promise resolves, with
 * code 1 and the stack on standard error when it throws. To stay alive, await
 * {@link FakeProcess.idle}.
 */
export type FakeProgram = (process: FakeProcess) => Promise<void> | void;

/** How a program's child is started. */
export interface FakeForkOptions {
	/** Leads a session and group of its own: a group signal to the worker does not reach it. */
	readonly newGroup?: boolean | undefined;
	/** Laid over the parent's environment; `undefined` removes a variable, the marker for one. */
	readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

interface FakeProcessFields {
	readonly machine: FakeMachine;
	readonly identity: ProcessIdentity;
	readonly groupId: number;
	readonly spec: ProcessSpec;
	readonly parent: FakeProcess | undefined;
	readonly output: FakeOutput;
}

/** A process of a {@link FakeMachine}: what the program may do, and what a test may do to it. */
export class FakeProcess {
	readonly identity: ProcessIdentity;
	readonly groupId: number;
	readonly spec: ProcessSpec;
	readonly parent: FakeProcess | undefined;
	/** Settles when it is gone. */
	readonly exited: Promise<ProcessExit>;
	/** Aborts when it is gone, so that its program can stop. */
	readonly ended: AbortSignal;
	/** What was written to its standard input; with `stdin: "pipe"` only. */
	readonly stdin: Readable | undefined;
	/** Its end of the control channel, descriptor 3. */
	readonly control: Duplex | undefined;
	/** Its ends of the streams that it was given, by their number. */
	readonly streams: ReadonlyMap<number, Duplex>;
	/** The other ends, for the process that started it. */
	readonly ends: {
		readonly stdin: Writable | undefined;
		readonly control: Duplex | undefined;
		readonly streams: ReadonlyMap<number, Duplex>;
	};
	readonly output: FakeOutput;
	/** Every signal that reached it, in order. */
	readonly received: NodeJS.Signals[] = [];

	/** User and system time it has used, in milliseconds. Set it to look busy. */
	cpuTimeMs = 0;
	/** Whether the kernel or a debugger keeps it from running. */
	held: ThreadFacts["held"] = "no";
	/** Resident memory, in bytes. */
	residentBytes: number = 16 * 2 ** 20;
	/** `false`: its identity cannot be read. */
	readable = true;
	/** `false`: signals to it are refused, as for another user's process. */
	permitted = true;
	/** `false`: once the leader of its group is gone, nothing proves that it was in it. */
	provable = true;
	/** `false`: not even SIGKILL ends it, as in an uninterruptible wait. */
	killable = true;
	/** How long the kernel takes from a deadly signal to the end, on the clock. */
	endDelayMs = 0;
	/** Stopped by SIGSTOP: other signals wait for SIGCONT. Its program must look by itself. */
	stopped = false;

	readonly #machine: FakeMachine;
	readonly #handlers = new Map<NodeJS.Signals, () => void>();
	readonly #blocked: NodeJS.Signals[] = [];
	readonly #ended = new AbortController();
	readonly #resolveExited: (exit: ProcessExit) => void;
	#condition: "alive" | "gone" = "alive";

	constructor(fields: FakeProcessFields) {
		this.#machine = fields.machine;
		this.identity = fields.identity;
		this.groupId = fields.groupId;
		this.spec = fields.spec;
		this.parent = fields.parent;
		this.output = fields.output;
		this.output.holders.add(this);
		this.ended = this.#ended.signal;
		const { promise, resolve } = Promise.withResolvers<ProcessExit>();
		this.exited = promise;
		this.#resolveExited = resolve;
		const [stdinWriter, stdin] =
			fields.spec.stdin === "pipe" ? streamPair() : [];
		const [hostControl, control] = fields.spec.control ? streamPair() : [];
		this.stdin = stdin;
		this.control = control;
		const streams = [...(fields.spec.descriptors ?? [])]
			.filter(([, what]) => what === "stream")
			.map(([fd]) => [fd, ...streamPair()] as const);
		this.streams = new Map(streams.map(([fd, , own]) => [fd, own]));
		this.ends = {
			stdin: stdinWriter,
			control: hostControl,
			streams: new Map(streams.map(([fd, hosts]) => [fd, hosts])),
		};
	}

	get pid(): number {
		return this.identity.pid;
	}

	get alive(): boolean {
		return this.#condition === "alive";
	}

	/** Its entry in the process table; `undefined` when it is not in it any more. */
	facts(): ProcessFacts | undefined {
		if (this.#condition === "gone") return undefined;
		const { identity, groupId, cpuTimeMs, residentBytes } = this;
		return {
			identity,
			groupId,
			condition: this.#condition,
			cpuTimeMs,
			residentBytes,
		};
	}

	/** Starts `program` as its main function, in a later microtask. */
	run(program: FakeProgram): this {
		void Promise.resolve().then(async () => {
			if (!this.alive) return;
			try {
				await program(this);
				this.exit(0);
			} catch (error) {
				for (const line of stackOf(error).split("\n"))
					this.write(line, "stderr");
				this.exit(1);
			}
		});
		return this;
	}

	/** Writes one line of output; nothing when it is dead. */
	write(line: string, stream: "stdout" | "stderr" = "stdout"): void {
		if (this.alive) this.output[stream].write(`${line}\n`);
	}

	/** Handles a signal instead of dying of it. SIGKILL and SIGSTOP cannot be handled. */
	on(signal: NodeJS.Signals, handler: () => void): this {
		this.#handlers.set(signal, handler);
		return this;
	}

	/** Whether it has a handler for a signal. */
	handles(signal: NodeJS.Signals): boolean {
		return this.#handlers.has(signal);
	}

	/** Ignores a signal. */
	ignore(signal: NodeJS.Signals): this {
		return this.on(signal, () => undefined);
	}

	/** Ends it with a code. */
	exit(code: number): void {
		this.die({ kind: "code", code });
	}

	/** Ends it, whatever it is doing. Only the first end counts. */
	die(exit: ProcessExit): void {
		if (!this.alive) return;
		this.#condition = "gone";
		this.#ended.abort();
		this.stdin?.destroy();
		this.control?.destroy();
		for (const stream of this.streams.values()) stream.destroy();
		this.output.release(this);
		this.#resolveExited(exit);
	}

	/** Never resolves: the program runs until something ends it. */
	idle(): Promise<never> {
		return new Promise(() => undefined);
	}

	/** Milliseconds on the machine's clock. */
	now(): number {
		return this.#machine.clock.now();
	}

	/** Waits on the machine's clock. */
	sleep(ms: number): Promise<void> {
		return new Promise(
			(resolve) => void this.#machine.clock.after(ms, resolve),
		);
	}

	/** Starts a child, which inherits group, environment and output. */
	fork(program: FakeProgram, options: FakeForkOptions = {}): FakeProcess {
		const env = { ...this.spec.env, ...options.env };
		return this.#machine.spawn({
			program,
			parent: this,
			groupId: options.newGroup ? undefined : this.groupId,
			output: this.output,
			spec: {
				...this.spec,
				stdin: "empty",
				control: false,
				descriptors: undefined,
				env: Object.fromEntries(
					Object.entries(env).filter(
						(pair): pair is [string, string] => pair[1] !== undefined,
					),
				),
			},
		});
	}

	/** Connects to a lifeline: dies by SIGKILL when the host closes it, and exits if it is closed already. */
	holdLifeline(path: string): void {
		if (!this.#machine.connectLifeline(path, this)) this.exit(0);
	}

	/** Delivers one signal. */
	signal(signal: NodeJS.Signals): SignalOutcome {
		if (!this.alive) return "gone";
		if (!this.permitted || !this.readable) return "refused";
		this.#deliver(signal);
		return "sent";
	}

	#deliver(signal: NodeJS.Signals): void {
		if (signal === "SIGCONT" && this.stopped) {
			this.stopped = false;
			for (const blocked of this.#blocked.splice(0)) this.#deliver(blocked);
		}
		if (this.stopped && signal !== "SIGKILL") {
			this.#blocked.push(signal);
			return;
		}
		this.received.push(signal);
		const handler =
			signal === "SIGKILL" || signal === "SIGSTOP"
				? undefined
				: this.#handlers.get(signal);
		if (handler) handler();
		else if (STOPPING.has(signal)) this.stopped = true;
		else if (!HARMLESS.has(signal) && this.killable) this.#killedBy(signal);
	}

	#killedBy(signal: NodeJS.Signals): void {
		const exit: ProcessExit = { kind: "signal", signal };
		if (this.endDelayMs === 0) this.die(exit);
		else this.#machine.clock.after(this.endDelayMs, () => this.die(exit));
	}
}

function stackOf(error: unknown): string {
	return error instanceof Error
		? (error.stack ?? error.message)
		: String(error);
}

/** Standard output and error, ended when the last process that holds them is gone. */
export class FakeOutput {
	readonly stdout: PassThrough = new PassThrough();
	readonly stderr: PassThrough = new PassThrough();
	readonly holders: Set<FakeProcess> = new Set();

	release(holder: FakeProcess): void {
		if (!this.holders.delete(holder) || this.holders.size > 0) return;
		this.stdout.end();
		this.stderr.end();
	}
}

/** What a signal does to a program that has no handler for it; the others end it. */
const HARMLESS: ReadonlySet<NodeJS.Signals> = new Set([
	"SIGCHLD",
	"SIGURG",
	"SIGWINCH",
	"SIGCONT",
]);
/** Signals that stop it. */
const STOPPING: ReadonlySet<NodeJS.Signals> = new Set([
	"SIGSTOP",
	"SIGTSTP",
	"SIGTTIN",
	"SIGTTOU",
]);

/**
 * One end of a socket pair in memory. What is written here is read there, with
 * back-pressure; an ended or destroyed end is end-of-file there; writing to an
 * end that is gone fails as `EPIPE`.
 */
class PairEnd extends Duplex {
	#peer: PairEnd | undefined;
	#resume: (() => void) | undefined;

	static pair(): readonly [Duplex, Duplex] {
		const [a, b] = [new PairEnd(), new PairEnd()];
		a.#peer = b;
		b.#peer = a;
		return [a, b];
	}

	override _read(): void {
		const resume = this.#resume;
		this.#resume = undefined;
		resume?.();
	}

	override _write(
		chunk: Buffer,
		_encoding: BufferEncoding,
		done: (error?: Error | null) => void,
	): void {
		const peer = this.#peer;
		if (!peer || peer.destroyed)
			done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
		else if (peer.push(chunk)) done();
		else peer.#resume = done;
	}

	override _final(done: (error?: Error | null) => void): void {
		this.#endPeer();
		done();
	}

	override _destroy(
		error: Error | null,
		done: (error?: Error | null) => void,
	): void {
		const resume = this.#resume;
		this.#resume = undefined;
		resume?.();
		if (!this.writableFinished) this.#endPeer();
		done(error);
	}

	#endPeer(): void {
		if (this.#peer && !this.#peer.destroyed && !this.#peer.readableEnded)
			this.#peer.push(null);
	}
}

/** Two connected streams in memory: a socket pair. */
export function streamPair(): readonly [Duplex, Duplex] {
	return PairEnd.pair();
}
