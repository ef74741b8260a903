import { type DiagAPI, diag } from "@opentelemetry/api";
import { NodeSDK } from "@opentelemetry/sdk-node";
import type { Pool, SnakepitEvent } from "@snakepit/core";
import type { Instrument } from "@snakepit/core/instrument";
import { telemetry } from "@snakepit/telemetry";
import { ExportTally } from "./export-tally.ts";
import { HeldSignals } from "./held-signals.ts";
import {
	hostVariables,
	type OtelVariables,
	workerVariables,
} from "./variables.ts";

/** What is used of OpenTelemetry's SDK. */
export interface Sdk {
	readonly NodeSDK: new () => Pick<NodeSDK, "start" | "shutdown">;
	readonly diag: Pick<DiagAPI, "setLogger">;
}

/** What became of what was told. */
export type Ending =
	| { readonly kind: "sent" }
	/** With what was wrong first. */
	| { readonly kind: "not_all_sent"; readonly problem: string }
	/** The SDK is still at it, and holds the program open. */
	| {
			readonly kind: "given_up";
			readonly problem: string | undefined;
			readonly afterMs: number;
	  };

/** After a signal: as long as Snakepit itself gives. */
const DRAIN_MS = 2_000;
/** At the end nobody waits longer for a receiver, and hardly for one that failed already. */
const END_WITHIN_MS = 5_000;
const END_OF_FAILED_WITHIN_MS = 500;

/** Sends what the demo does to an OTLP/HTTP receiver, from here and from the workers. */
export class DemoTelemetry {
	readonly instruments: readonly Instrument[] = [telemetry()];
	readonly workerVariables: OtelVariables;
	/** What the workers need to tell their part. Who tells nothing downloads none of it. */
	readonly pythonRequirements: readonly string[] = [
		"opentelemetry-sdk>=1.45,<2",
		"opentelemetry-exporter-otlp-proto-http>=1.45,<2",
	];
	/** What ends this program waits until the end was sent. */
	readonly signals: HeldSignals = new HeldSignals();
	readonly #sdk: InstanceType<Sdk["NodeSDK"]>;
	readonly #tally: ExportTally;
	#problem: string | undefined;

	/**
	 * Starts the SDK: to be done before there is a pool.
	 *
	 * @param environ - Where the SDK reads its variables; gets those that are missing.
	 */
	constructor(
		endpoint: string,
		sdk: Sdk = { NodeSDK, diag },
		environ: NodeJS.ProcessEnv = process.env,
	) {
		this.workerVariables = workerVariables(endpoint, environ);
		Object.assign(environ, hostVariables(endpoint, environ));
		this.#tally = new ExportTally(endpoint);
		this.#sdk = new sdk.NodeSDK();
		const silent = () => {};
		sdk.diag.setLogger(
			{
				error: (what) => this.#note(readDiagnosis(what)),
				warn: silent,
				info: silent,
				debug: silent,
				verbose: silent,
			},
			{ suppressOverrideMessage: true },
		);
		this.#sdk.start();
	}

	/** Whether an event is only about telemetry: a receiver that fails is told once, at the end, not by every worker. */
	takes(event: SnakepitEvent): boolean {
		if (event.type === "host.signal_received") this.signals.hold();
		if (event.type !== "worker.logged") return false;
		const { logger, level, message } = event.record;
		if (!/^(opentelemetry|snakepit_bridge\.telemetry)\b/.test(logger))
			return false;
		if (level !== "debug" && level !== "info")
			this.#note(`${event.workerId}: ${message}`);
		return true;
	}

	/** Closes the pool at a signal. The order matters: an SDK that is shut down takes nothing more. */
	closeWhenHeld(pool: Pick<Pool, "close">): void {
		const { held } = this.signals;
		const close = (): void => void pool.close({ drainMs: DRAIN_MS });
		if (held.aborted) close();
		else held.addEventListener("abort", close, { once: true });
	}

	/** Sends what is left and ends the SDK, within five seconds. */
	async end(): Promise<Ending> {
		const withinMs =
			this.#problem === undefined ? END_WITHIN_MS : END_OF_FAILED_WITHIN_MS;
		const late = Promise.withResolvers<"late">();
		const timer = setTimeout(() => late.resolve("late"), withinMs);
		const ended = this.#sdk
			.shutdown()
			.catch((error: Error) => this.#note(error.message));
		const outcome = await Promise.race([ended, late.promise]);
		clearTimeout(timer);
		// It says of each signal what the SDK's first complaint does not.
		const problem = this.#tally.problem ?? this.#problem;
		this.#tally[Symbol.dispose]();
		if (outcome === "late")
			return { kind: "given_up", problem, afterMs: withinMs };
		return problem === undefined
			? { kind: "sent" }
			: { kind: "not_all_sent", problem };
	}

	#note(problem: string): void {
		this.#problem ??= problem.split("\n")[0] ?? problem;
	}
}

/** An error reaches the SDK's diagnosis as JSON. */
export function readDiagnosis(what: unknown): string {
	const text = String(what);
	try {
		const { message } = JSON.parse(text) as { message?: unknown };
		return typeof message === "string" ? message : text;
	} catch {
		return text;
	}
}
