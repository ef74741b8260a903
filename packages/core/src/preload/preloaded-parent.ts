import type { Socket } from "node:net";
import { join } from "node:path";
import type { LaunchSpec, PreloadPlace } from "../adapter.ts";
import { StartError } from "../errors.ts";
import type { ProcessIdentity } from "../identity.ts";
import { ForkLine } from "../os/fork/fork-line.ts";
import { afterRunning } from "../patience.ts";
import { formatLaunchMessage, shakeHands } from "../worker/control-channel.ts";
import { fingerprint } from "../worker/fingerprint.ts";
import { killerOf, type SentSignal } from "../worker/killer-of.ts";
import { OrphanSweep } from "../worker/orphan-sweep.ts";
import { processSpec } from "../worker/process-spec.ts";
import { dumpUnreadyStacks } from "../worker/stack-dump.ts";
import { isTimeout, withLastLines } from "../worker/start-errors.ts";
import { WorkerOutput } from "../worker/worker-output.ts";
import type {
	LifelineListener,
	ProcessExit,
	ProcessSpec,
	StartedProcess,
} from "../world.ts";
import type { PreloadSetting } from "./preload-setting.ts";

/** It ends at once, unless something in its imports takes its time. */
const END_LIMIT_MS = 1_000;

/** One preloaded parent: recorded in the ledger as a worker is, and ended in every way in which one is. */
export class PreloadedParent {
	/** Resolves when it is gone and nothing of it is left. Never rejects. */
	readonly ended: Promise<ProcessExit>;
	readonly #setting: PreloadSetting;
	readonly #process: StartedProcess;
	readonly #line: ForkLine;
	readonly #sent: SentSignal[] = [];
	#stopping: "released" | "lost" = "lost";

	private constructor(
		setting: PreloadSetting,
		place: PreloadPlace,
		process: StartedProcess,
		lifeline: LifelineListener,
		output: WorkerOutput,
		lost: () => void,
	) {
		this.#setting = setting;
		this.#process = process;
		const { clock, host } = setting.world;
		this.#line = new ForkLine({
			// As every control channel of this platform.
			connection: process.control as Socket,
			socketPath: place.forkSocket,
			source: "preload",
			host,
			clock,
			lost,
			broken: () => this.#kill("stop_ladder"),
		});
		this.ended = this.#whenEnded(place, lifeline, output);
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
		const { registry, host } = world;
		const { incarnation, workerId, pool, directory } = place;
		registry.reserve({
			incarnation,
			workerId,
			pool,
			fingerprint: fingerprint(spec),
			files: [directory],
		});
		let lifeline: LifelineListener | undefined;
		let process: StartedProcess | undefined;
		let output: WorkerOutput | undefined;
		try {
			host.createDirectory(directory);
			lifeline = await host.listenLifeline(join(directory, "l"));
			signal.throwIfAborted();
			process = await world.source.start(
				processSpec(spec, place, setting),
				(identity) => registry.activate(incarnation, identity, identity.pid),
			);
			const ref = { pool, workerId, incarnation };
			output = new WorkerOutput(process, true, ref, options.output, world);
			await ready(setting, place, spec, process, lifeline, signal);
			return new PreloadedParent(
				setting,
				place,
				process,
				lifeline,
				output,
				lost,
			);
		} catch (error) {
			if (process !== undefined && output !== undefined && isTimeout(error)) {
				const { dumpSignal } = spec;
				await dumpUnreadyStacks({ process, output, dumpSignal }, world);
			}
			const sent = process?.signal("SIGKILL", "group") === "sent";
			const exit = await process?.exited;
			await output?.lastLines();
			output?.close();
			lifeline?.close();
			host.remove([directory]);
			registry.end(incarnation, {
				exit,
				reason: "start_failed",
				killer: killerOf(
					exit,
					sent ? [{ signal: "SIGKILL", by: "stop_ladder" }] : [],
				),
			});
			sweep(setting, incarnation);
			throw withLastLines(error, output?.tail.paragraph() ?? "");
		}
	}

	get pid(): number {
		return this.#process.identity.pid;
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
		if (this.#process.signal("SIGKILL", "group") === "sent")
			this.#sent.push({ signal: "SIGKILL", by });
	}

	async #whenEnded(
		{ incarnation, directory }: PreloadPlace,
		lifeline: LifelineListener,
		output: WorkerOutput,
	): Promise<ProcessExit> {
		const { registry, host } = this.#setting.world;
		const exit = await this.#process.exited;
		// The ends of its workers are reported before its own.
		this.#line.lose(new Error("the preloaded parent has ended"));
		this.#process.signal("SIGKILL", "group");
		registry.end(incarnation, {
			exit,
			reason: this.#stopping === "released" ? "closed" : "exited",
			killer: killerOf(exit, this.#sent),
		});
		lifeline.close();
		await output.lastLines();
		output.close();
		host.remove([directory]);
		sweep(this.#setting, incarnation);
		return exit;
	}
}

/** Launch message and ready line, within the time of a start. */
async function ready(
	{ options, world }: PreloadSetting,
	place: PreloadPlace,
	spec: LaunchSpec,
	process: StartedProcess,
	lifeline: LifelineListener,
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
		if (process.control === undefined)
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
