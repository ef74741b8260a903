import type { Socket } from "node:net";
import type { LaunchSpec, PreloadPlace } from "../adapter.ts";
import { StartError } from "../errors.ts";
import type { ProcessIdentity } from "../identity.ts";
import { ForkLine } from "../os/fork/fork-line.ts";
import { afterRunning } from "../patience.ts";
import { killerOf, type SentSignal } from "../process/killer-of.ts";
import { OrphanSweep } from "../process/orphan-sweep.ts";
import {
	type OwnedProcess,
	recordEnd,
	startOwned,
} from "../process/owned-process.ts";
import { formatLaunchMessage, shakeHands } from "../worker/control-channel.ts";
import { dumpUnreadyStacks } from "../worker/stack-dump.ts";
import { isTimeout, withLastLines } from "../worker/start-errors.ts";
import { WorkerOutput } from "../worker/worker-output.ts";
import type { ProcessExit, ProcessSpec, StartedProcess } from "../world.ts";
import type { PreloadSetting } from "./preload-setting.ts";

/** It ends at once, unless something in its imports takes its time. */
const END_LIMIT_MS = 1_000;

/** One preloaded parent: recorded in the ledger as a worker is, and ended in every way in which one is. */
export class PreloadedParent {
	/** Resolves when it is gone and nothing of it is left. Never rejects. */
	readonly ended: Promise<ProcessExit>;
	readonly #setting: PreloadSetting;
	readonly #owned: OwnedProcess;
	readonly #line: ForkLine;
	readonly #sent: SentSignal[] = [];
	#stopping: "released" | "lost" = "lost";

	private constructor(
		setting: PreloadSetting,
		place: PreloadPlace,
		owned: OwnedProcess,
		output: WorkerOutput,
		lost: () => void,
	) {
		this.#setting = setting;
		this.#owned = owned;
		const { clock, host } = setting.world;
		this.#line = new ForkLine({
			// As every control channel of this platform.
			connection: owned.process.control as Socket,
			socketPath: place.forkSocket,
			source: "preload",
			highestDescriptor: 3,
			host,
			clock,
			lost,
			broken: () => this.#kill("stop_ladder"),
		});
		this.ended = this.#whenEnded(place, output);
	}

	/**
	 * Starts one, and resolves when workers can be forked.
	 *
	 * @param spec what to execute at this place.
	 * @param lost called once, when it can fork no more workers.
	 * @throws StartError saying why it cannot be; nothing is left then.
	 */
	static async start(
		setting: PreloadSetting,
		place: PreloadPlace,
		spec: LaunchSpec,
		lost: () => void,
		signal: AbortSignal,
	): Promise<PreloadedParent> {
		const { options, world } = setting;
		const { incarnation, workerId, pool } = place;
		const owned = await startOwned(spec, place, setting, world, () =>
			signal.throwIfAborted(),
		);
		const { process } = owned;
		const ref = { pool, workerId, incarnation };
		const output = new WorkerOutput(process, true, ref, options.output, world);
		try {
			await ready(setting, place, spec, owned, signal);
			return new PreloadedParent(setting, place, owned, output, lost);
		} catch (error) {
			if (isTimeout(error)) {
				const { dumpSignal } = spec;
				await dumpUnreadyStacks({ process, output, dumpSignal }, world);
			}
			const sent = process.signal("SIGKILL", "group") === "sent";
			const exit = await process.exited;
			await output.lastLines();
			output.close();
			const by = "stop_ladder";
			const killer = killerOf(exit, sent ? [{ signal: "SIGKILL", by }] : []);
			recordEnd(
				owned,
				incarnation,
				{ exit, reason: "start_failed", killer },
				world,
			);
			sweep(setting, incarnation);
			throw withLastLines(error, output.tail.paragraph());
		}
	}

	get pid(): number {
		return this.#owned.process.identity.pid;
	}

	get isLost(): boolean {
		return this.#line.isLost;
	}

	/** Starts a worker; see {@link ProcessSource.start}. */
	fork(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		return this.#line.fork(spec, record);
	}

	/** Asks it to end; resolves when nothing of it is left. */
	async release(): Promise<void> {
		this.#stopping = "released";
		this.#line.end();
		const limit = this.#setting.world.clock.after(END_LIMIT_MS, () =>
			this.#kill("stop_ladder"),
		);
		await this.ended;
		limit.cancel();
	}

	/** Whether it ended because it was to. */
	get how(): "released" | "lost" {
		return this.#stopping;
	}

	/** Kills it with its group in this very turn, for the exit of the host. */
	killNow(): void {
		this.#kill("application_cleanup");
	}

	#kill(by: SentSignal["by"]): void {
		if (this.#owned.process.signal("SIGKILL", "group") === "sent")
			this.#sent.push({ signal: "SIGKILL", by });
	}

	async #whenEnded(
		{ incarnation }: PreloadPlace,
		output: WorkerOutput,
	): Promise<ProcessExit> {
		const { process } = this.#owned;
		const exit = await process.exited;
		// The ends of its workers are reported before its own.
		this.#line.lose(new Error("the preloaded parent has ended"));
		process.signal("SIGKILL", "group");
		const reason = this.#stopping === "released" ? "closed" : "exited";
		const killer = killerOf(exit, this.#sent);
		const { world } = this.#setting;
		recordEnd(this.#owned, incarnation, { exit, reason, killer }, world);
		await output.lastLines();
		output.close();
		sweep(this.#setting, incarnation);
		return exit;
	}
}

/** Launch message and ready line, within the time of a start. */
async function ready(
	{ options, world }: PreloadSetting,
	place: PreloadPlace,
	spec: LaunchSpec,
	{ process, lifeline }: OwnedProcess,
	signal: AbortSignal,
): Promise<void> {
	const { clock, random } = world;
	const { workerId } = place;
	const late = Promise.withResolvers<never>();
	const { timeoutMs } = options.start;
	const limit = afterRunning(clock, timeoutMs, () =>
		late.reject(
			new StartError({
				code: "START_TIMEOUT",
				ran: "no",
				message: `The preloaded parent ${workerId} was not ready within ${timeoutMs} ms (start.timeoutMs).`,
			}),
		),
	);
	const aborted = (): void => late.reject(signal.reason);
	signal.addEventListener("abort", aborted);
	try {
		if (process.control === undefined || lifeline === undefined)
			throw new TypeError(`${workerId} has no control channel.`);
		const message = formatLaunchMessage(
			place,
			lifeline.path,
			random.token(),
			spec.launchPayload,
		);
		await Promise.race([
			shakeHands(process.control, workerId, message, spec.refusalCodes),
			late.promise,
		]);
	} finally {
		limit.cancel();
		signal.removeEventListener("abort", aborted);
	}
}

/** What its imports started and what left its group ends with it. */
function sweep({ world }: PreloadSetting, incarnation: string): void {
	const sweep = new OrphanSweep(world);
	sweep.noteEnded(incarnation);
	sweep.finish();
}
