import type { Socket } from "node:net";
import type { ProcessExit, ProcessIdentity } from "../contract/identity.ts";
import type { LaunchSpec, PreloadPlace } from "../contract/launch.ts";
import type { ProcessSpec, StartedProcess } from "../contract/world.ts";
import { ForkLine } from "../os/fork/fork-line.ts";
import { inheritedRights } from "../os/inherited-rights.ts";
import {
	PoolProcess,
	type PoolProcessSetting,
} from "../worker/pool-process.ts";

/** It ends at once, unless something in its imports takes its time. */
const END_LIMIT_MS = 1_000;

/** One preloaded parent, and the line on which it is asked for workers. */
export class PreloadedParent {
	/** Resolves when it is gone and nothing of it is left. Never rejects. */
	readonly ended: Promise<ProcessExit>;
	readonly #own: PoolProcess;
	readonly #line: ForkLine;
	readonly #rights: string;

	private constructor(
		own: PoolProcess,
		{ forkSocket }: PreloadPlace,
		{ world: { host, clock } }: PoolProcessSetting,
		rights: string,
		lost: () => void,
	) {
		this.#own = own;
		this.#rights = rights;
		this.#line = new ForkLine({
			// As every control channel of this platform.
			connection: own.process.control as Socket,
			socketPath: forkSocket,
			source: "preload",
			highestDescriptor: 3,
			host,
			clock,
			lost,
			broken: () => own.signal("SIGKILL", "stop_ladder"),
		});
		// The ends of its workers are reported before its own.
		this.ended = own.whenEnded(() =>
			this.#line.lose(new Error("the preloaded parent has ended")),
		);
	}

	/**
	 * Starts one, and resolves when workers can be forked.
	 *
	 * @param spec what to execute at this place.
	 * @param lost called once, when it can fork no more workers.
	 * @throws StartError saying why it cannot be; nothing is left then.
	 */
	static async start(
		setting: PoolProcessSetting,
		place: PreloadPlace,
		spec: LaunchSpec,
		lost: () => void,
		signal: AbortSignal,
	): Promise<PreloadedParent> {
		const rights = inheritedRights();
		const own = await PoolProcess.start(
			...([setting, place, spec, "preloaded parent", signal] as const),
		);
		return new PreloadedParent(own, place, setting, rights, lost);
	}

	get pid(): number {
		return this.#own.pid;
	}

	/**
	 * Whether it can fork what this program would start now: something may have removed its socket, and its workers have
	 * the rights that it has. One that is lost is: the start with it says so.
	 */
	get isOfUse(): boolean {
		if (this.isLost) return true;
		const rights = inheritedRights();
		const isSame = rights === "" || rights === this.#rights;
		return isSame && this.#line.isReachable;
	}

	get isLost(): boolean {
		return this.#line.isLost;
	}

	/** Whether it ended because it was to. */
	get how(): "released" | "lost" {
		return this.#own.how;
	}

	/** Starts a worker; see {@link ProcessSource.start}. */
	fork(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		return this.#line.fork(spec, record);
	}

	/** Asks it to end; resolves when nothing of it is left, or it cannot die. */
	release(): Promise<void> {
		return this.#own.release(
			() => this.#line.end(),
			...([END_LIMIT_MS, this.ended] as const),
		);
	}

	/** Kills it with its group in this very turn, for the exit of the host. */
	killNow(): void {
		this.#own.signal("SIGKILL", "application_cleanup");
	}
}
