import { type ChildProcess, execFile, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import {
	GUARD_VARIABLE,
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
	type ProcessExit,
	type ProcessIdentity,
	processExit,
} from "../contract/identity.ts";
import {
	type LayerReport,
	type ProtectionContext,
	ProtectionUnavailable,
} from "../contract/protection.ts";
import type { ProcessSpec, StartedProcess } from "../contract/world.ts";
import { pause, withDeadline } from "../deadline.ts";
import type { SnapshotHost } from "../os/descendants.ts";
import { ForkLine } from "../os/fork/fork-line.ts";
import type { Answer } from "../os/fork/request.ts";
import { VERSION } from "../os/gen/version.ts";
import { GuardTree } from "../os/guard-tree.ts";
import { removePath } from "../os/private-directory.ts";

/** A chain starts in a few milliseconds; this is for a very busy machine. */
const READY_LIMIT_MS = 20_000;
/** What is left at the end of a run is killed immediately. A process stuck in the kernel is not waited for. */
const END_LIMIT_MS = 5_000;
/** Guards whose outermost one has ended end within milliseconds. */
const OWN_END_MS = 1_000;
/** SIGKILL takes effect immediately: what is still there then cannot die. */
const KILL_LIMIT_MS = 5_000;
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;
/** How often a chain is looked at: a guard that is stopped reports no end of a worker, and could not kill. */
const LOOK_MS = 1_000;
/** So many looks in a row at which something traces a guard: what only follows its system calls is not seen so often. */
const HELD_LOOKS = 3;

/** What a chain is made with. */
export interface GuardContext extends ProtectionContext {
	readonly host: SnapshotHost;
}

/** Of those that a worker can be given. */
export const HIGHEST_DESCRIPTOR = 7;

/** One chain of guards, from its start to its end. */
export class GuardChain {
	/** The outer guard: this host's child. */
	readonly pid: number;
	/** Resolves with how the outer guard ended. From the first sign of its end, the chain gets no more requests. */
	readonly ended: Promise<ProcessExit>;
	/** Resolves after that, to what is left of it and below it: nothing but what cannot be killed. */
	readonly gone: Promise<readonly ProcessIdentity[]>;
	/** Why it was ended although nobody asked for that; `undefined` where its exit says it. */
	verdict: string | undefined;
	readonly #context: GuardContext;
	/** Of the outer guard; `undefined` if it cannot be read. */
	readonly #identity: ProcessIdentity | undefined;
	readonly #socketPath: string;
	readonly #line: ForkLine;
	readonly #ready = Promise.withResolvers<void>();
	readonly #ended = Promise.withResolvers<ProcessExit>();
	/** Once it is ready. */
	#tree: GuardTree | undefined;
	#heldLooks = 0;

	private constructor(
		context: GuardContext,
		child: ChildProcess,
		socketPath: string,
		lost: () => void,
	) {
		this.#context = context;
		this.pid = child.pid ?? 0;
		// In the turn of its spawn, before Node can have reaped it.
		const observation = context.host.observe(this.pid);
		this.#identity = typeof observation === "string" ? undefined : observation;
		this.#socketPath = socketPath;
		const lifeline = child.stdio[4] as Duplex;
		this.ended = this.#ended.promise;
		child.once("exit", (code, signal) => {
			this.#line.lose(new Error("the guard has ended"));
			this.#ended.resolve(processExit(code, signal));
		});
		this.gone = this.ended.then(() => this.#clear(OWN_END_MS));
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
		context: GuardContext,
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
				env: environmentOf(context.marker),
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

	/** Ends it and everything below it; resolves to what is left, which cannot be killed. */
	async end(): Promise<readonly ProcessIdentity[]> {
		const { clock, host } = this.#context;
		// A chain that is lost is ending by itself.
		this.#line.end();
		const isHeld = this.#tree?.wake() === "held";
		const release = host.keepAlive();
		try {
			const ms = isHeld ? 0 : END_LIMIT_MS;
			return await withDeadline(this.gone, { clock, ms }, () =>
				this.#endByHand(),
			);
		} finally {
			release();
			removePath(this.#socketPath);
		}
	}

	/** Kills the outer guard, whereupon the inner one kills everything and ends, or is ended with it. */
	kill(): void {
		this.#tree?.wake();
		// Node reaps several children before it reports the first: the pid may belong to another process by now.
		if (this.#identity !== undefined)
			this.#context.host.signal(this.#identity, "SIGKILL");
	}

	/**
	 * For the exit of this program, which the guards notice: those that are stopped continue. What is below guards that
	 * something traces is killed here.
	 *
	 * @param pause stops this thread.
	 */
	killNow(pause: (ms: number) => void): void {
		const tree = this.#tree;
		if (tree === undefined || tree.wake() === "free") return;
		const { clock } = this.#context;
		const until = clock.now() + KILL_LIMIT_MS;
		while (tree.kill().length > 0 && clock.now() < until) pause(1);
	}

	/** What holds it may also keep its end from being reported. */
	async #endByHand(): Promise<readonly ProcessIdentity[]> {
		const left = await this.#clear(0);
		if (left.length === 0)
			this.#ended.resolve({ kind: "signal", signal: "SIGKILL" });
		return left;
	}

	/**
	 * Ends what is left of it, the guards after everything below them.
	 *
	 * @param limitMs how long they have to do it themselves.
	 */
	async #clear(limitMs: number): Promise<readonly ProcessIdentity[]> {
		const tree = this.#tree;
		if (tree === undefined) return [];
		const { clock } = this.#context;
		const begunMs = clock.now();
		for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
			const elapsedMs = clock.now() - begunMs;
			tree.wake();
			const left = elapsedMs < limitMs ? tree.guards() : tree.kill();
			if (left.length === 0) return [];
			if (elapsedMs >= limitMs + KILL_LIMIT_MS) return left;
			const ms = Math.min(pauseMs, LONGEST_PAUSE_MS);
			await pause(clock, ms);
		}
	}

	/** Continues guards that are stopped. A chain that something traces serves nobody: it is ended. */
	#lookLater(): void {
		this.#context.clock.after(LOOK_MS, () => {
			if (this.isLost) return;
			this.#heldLooks = this.#tree?.wake() === "held" ? this.#heldLooks + 1 : 0;
			if (this.#heldLooks < HELD_LOOKS) {
				this.#lookLater();
				return;
			}
			this.verdict =
				"another process traced it for seconds, so that it could not serve, and Snakepit ended it";
			this.#line.lose(new Error("the guard is traced by another process"));
			void this.#endByHand();
		});
	}

	async #whenReady(): Promise<void> {
		const { clock, host } = this.#context;
		const deadline = { clock, ms: READY_LIMIT_MS, counts: "running" } as const;
		const release = host.keepAlive();
		try {
			await withDeadline(this.#ready.promise, deadline, () => {
				throw new Error(`the guard was not ready within ${READY_LIMIT_MS} ms`);
			});
		} catch (error) {
			this.kill();
			await this.ended;
			throw error;
		} finally {
			release();
		}
	}

	#answered(answer: Answer): void {
		if (answer.type === "ready") {
			if (this.#identity !== undefined)
				this.#tree = GuardTree.below(this.#context.host, this.#identity);
			this.#lookLater();
			this.#ready.resolve();
		} else if (answer.type === "crashed")
			this.#line.lose(new Error(`the guard failed: ${answer.reason}`));
	}
}

/** Leaves out the markers of any run: a search for descendants of workers must not find a guard, but one for guards must. */
function environmentOf(marker: string): NodeJS.ProcessEnv {
	const {
		[MARKER_VARIABLE]: _marker,
		[INCARNATION_VARIABLE]: _incarnation,
		...rest
	} = process.env;
	return { ...rest, [GUARD_VARIABLE]: marker };
}

function refusal(child: ChildProcess): Promise<Error> {
	return new Promise((resolve) => {
		child.once("error", resolve);
	});
}

const INSPECTION_LIMIT_MS = 10_000;

/** Whether a guard exists for this system at all: if not, its absence is not reported. */
export function hasGuard(platform: string, arch: string): boolean {
	return platform === "linux" && (arch === "x64" || arch === "arm64");
}

/**
 * The guard's program: the native binary, whose first argument is `guard`.
 *
 * @throws ProtectionUnavailable when there is none for this system, or it is not installed.
 */
export function guardProgram(
	binary: string | undefined,
	{ platform, arch }: { platform: string; arch: string } = process,
): string {
	if (!hasGuard(platform, arch))
		throw new ProtectionUnavailable(
			`The guard is a program for Linux on x64 and arm64; this is ${platform} on ${arch}.`,
			"Use the watchdog, which works here.",
		);
	if (binary !== undefined) return binary;
	const name = `@snakepit/native-linux-${arch}`;
	throw new ProtectionUnavailable(
		`The guard's package ${name} was not found, or this user may not execute its files.`,
		`Run npm install ${name}@${VERSION} where the program runs: it is an optional dependency of @snakepit/core, so npm --omit=optional skips it, and a bundle does not contain it.`,
	);
}

/**
 * Has the guard inspect this machine.
 *
 * @throws ProtectionUnavailable when none can work.
 */
export async function inspectGuard(program: string): Promise<void> {
	const reason = await new Promise<string | undefined>((resolve) => {
		const options = { timeout: INSPECTION_LIMIT_MS, maxBuffer: 65_536 };
		execFile(program, ["guard", "--inspect"], options, (error, stdout) =>
			resolve(error === null ? undefined : stdout.trim() || error.message),
		);
	});
	if (reason !== undefined)
		throw new ProtectionUnavailable(
			`The guard cannot work on this system: ${reason}.`,
			"Mount /proc, and allow prctl(PR_SET_CHILD_SUBREAPER) in the container's filter of system calls.",
		);
}

/** How the guards of a run have fared, as far as it matters for the next one. */
export interface GuardHealth {
	/** Chains in a row that could not be started, or were lost soon. */
	readonly failures: number;
	/** Before this moment of the monotonic clock none is tried. */
	readonly againMs: number;
}

export const HEALTHY: GuardHealth = { failures: 0, againMs: 0 };

/** A chain that lived this long has proved that one can work here. */
const PROVEN_MS = 10_000;
/** So many in a row, and something here ends guards. */
const TOO_MANY = 3;
const PAUSE_MS = 60_000;

/** A chain could not be started (`livedMs` is 0), or was lost. */
export function afterLoss(
	before: GuardHealth,
	livedMs: number,
	nowMs: number,
): GuardHealth {
	const failures = livedMs >= PROVEN_MS ? 1 : before.failures + 1;
	return {
		failures,
		againMs: failures < TOO_MANY ? nowMs : nowMs + PAUSE_MS,
	};
}

export function mayBeTried({ againMs }: GuardHealth, nowMs: number): boolean {
	return nowMs >= againMs;
}

const BY_SIGNAL =
	"was killed by a signal from a person, another program, or the kernel when memory ran out (dmesg shows that)";

/** By exit status of the outer guard. Source: native/src/guard/guard.h. */
const LOSSES: Readonly<Record<number, string>> = {
	64: "it wrongly concluded that this program was dead",
	65: "one of its inner processes failed, or did not answer in time",
	66: "it received an invalid request",
	67: `its inner process, which forks the workers, ${BY_SIGNAL}`,
	68: `its middle process ${BY_SIGNAL}`,
	70: "its outer process failed",
};

/** Which of the three processes of a chain was lost, and how, as a part of a sentence. */
export function describeLoss(exit: ProcessExit): string {
	return exit.kind === "signal"
		? `its outer process ${BY_SIGNAL.replace("a signal", exit.signal)}`
		: (LOSSES[exit.code] ?? `its outer process ended with status ${exit.code}`);
}

/** Whether a run on this machine has a guard, as the doctor reports it. */
export async function guardLayer(
	binary: string | undefined,
): Promise<LayerReport> {
	const layer = "guard";
	try {
		const program = guardProgram(binary);
		await inspectGuard(program);
		return {
			layer,
			status: "available",
			detail: `every run has a guard, unless it is opened with guard: "off"; when this program dies, the guard kills every descendant of its workers, even one that left its group and session and carries no marker; if three guards in a row are lost within 10 s of their start, workers start without a guard for a minute, and standard error says so (${program})`,
		};
	} catch (error) {
		if (!(error instanceof ProtectionUnavailable)) throw error;
		return {
			...{ layer, status: "unavailable" },
			detail: `${error.reason} Without a guard, a descendant that left its worker's group survives until the next start, or longer if it cleared its environment.`,
			remedy: error.remedy,
		};
	}
}
