import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { ClientRequest, IncomingMessage } from "node:http";
import { type DiagAPI, diag } from "@opentelemetry/api";
import { NodeSDK } from "@opentelemetry/sdk-node";
import type { SnakepitEvent } from "@snakepit/core";
import type { Instrument } from "@snakepit/core/instrument";
import { telemetry } from "@snakepit/telemetry";
import { duration } from "./figures.ts";
import type { Line } from "./line.ts";
import { hostVariables, workerVariables } from "./otel-variables.ts";

/** The part of OpenTelemetry's SDK that is used. */
export interface Sdk {
	readonly NodeSDK: new () => Pick<NodeSDK, "start" | "shutdown">;
	readonly diag: Pick<DiagAPI, "setLogger">;
}

/** How long the demo waits at its end for a receiver, and for one that has already failed. */
const END_WITHIN_MS = 5_000;
const END_OF_FAILED_WITHIN_MS = 500;

/** Exports traces, metrics and logs of the demo and its workers to an OTLP/HTTP receiver. */
export class DemoTelemetry {
	readonly instruments: readonly Instrument[] = [telemetry()];
	readonly workerEnv: Readonly<Record<string, string>>;
	/** What workers need to export; installed only with `--otlp`. */
	readonly pythonRequirements: readonly string[] = [
		"opentelemetry-sdk>=1.45,<2",
		"opentelemetry-exporter-otlp-proto-http>=1.45,<2",
	];
	readonly #endpoint: string;
	readonly #sdk: InstanceType<Sdk["NodeSDK"]>;
	readonly #exports: ExportTally;
	#problem: string | undefined;

	/**
	 * Starts the SDK, which must happen before the pool is made.
	 *
	 * @param environ - Where the SDK reads its variables; missing ones are added.
	 */
	constructor(
		endpoint: string,
		sdk: Sdk = { NodeSDK, diag },
		environ: NodeJS.ProcessEnv = process.env,
	) {
		this.#endpoint = endpoint;
		this.workerEnv = workerVariables(endpoint, environ);
		Object.assign(environ, hostVariables(endpoint, environ));
		this.#exports = new ExportTally(endpoint);
		this.#sdk = new sdk.NodeSDK();
		const ignore = () => {};
		sdk.diag.setLogger(
			{
				error: (what) => this.#note(readDiagnosis(what)),
				warn: ignore,
				info: ignore,
				debug: ignore,
				verbose: ignore,
			},
			{ suppressOverrideMessage: true },
		);
		this.#sdk.start();
	}

	/** Returns whether an event is only about exports: a failing receiver is reported once, at the end, not by every worker. */
	takes(event: SnakepitEvent): boolean {
		if (event.type !== "worker.logged") return false;
		const { logger, level, message } = event.record;
		if (!/^(opentelemetry|snakepit_bridge\.telemetry)\b/.test(logger))
			return false;
		if (level !== "debug" && level !== "info")
			this.#note(`${event.workerId}: ${message}`);
		return true;
	}

	/** Sends what is left, stops the SDK, and reports in one line whether everything arrived. */
	async end(): Promise<Line> {
		const withinMs =
			this.#problem === undefined ? END_WITHIN_MS : END_OF_FAILED_WITHIN_MS;
		const late = Promise.withResolvers<"late">();
		const timer = setTimeout(() => late.resolve("late"), withinMs);
		const ended = this.#sdk
			.shutdown()
			.catch((error: Error) => this.#note(error.message));
		const outcome = await Promise.race([ended, late.promise]);
		clearTimeout(timer);
		this.#exports[Symbol.dispose]();
		// An SDK that is still trying would keep the program alive.
		if (outcome === "late") setImmediate(() => process.exit());
		// The tally knows which signals failed; the SDK's first complaint does not.
		const problem =
			this.#exports.problem ??
			this.#problem ??
			(outcome === "late" ? `no answer for ${duration(withinMs)}` : undefined);
		return [
			["faint", "telemetry    "],
			problem === undefined ? ["good", "sent"] : ["bad", "had trouble"],
			["faint", `  to ${this.#endpoint}${problem ? `: ${problem}` : ""}`],
		];
	}

	#note(problem: string): void {
		this.#problem ??= problem.split("\n")[0] ?? problem;
	}
}

/** The SDK's diagnostic logger gets errors as JSON. */
function readDiagnosis(what: unknown): string {
	const text = String(what);
	try {
		const { message } = JSON.parse(text) as { message?: unknown };
		return typeof message === "string" ? message : text;
	} catch {
		return text;
	}
}

/** Source: https://nodejs.org/api/diagnostics_channel.html#http */
const ANSWERED = "http.client.response.finish";
const FAILED = "http.client.request.error";

const SIGNALS = ["traces", "metrics", "logs"];

interface HttpMessage {
	readonly request: ClientRequest;
	readonly response?: IncomingMessage;
	readonly error?: NodeJS.ErrnoException;
}

/** Counts which exports the receiver accepts, by its HTTP answers: the SDK's errors do not name the signal. */
export class ExportTally implements Disposable {
	readonly #endpoint: string;
	readonly #accepted = new Set<string>();
	/** By signal, why the first export was refused. */
	readonly #refused = new Map<string, string>();

	constructor(endpoint: string) {
		this.#endpoint = `${endpoint}/v1/`;
		subscribe(ANSWERED, this.#count);
		subscribe(FAILED, this.#count);
	}

	readonly #count = (message: unknown): void => {
		const { request, response, error } = message as HttpMessage;
		const url = `${request.protocol}//${request.getHeader("host")}${request.path}`;
		if (!url.startsWith(this.#endpoint)) return;
		const signal = url.slice(this.#endpoint.length);
		const { statusCode = 0, statusMessage = "" } = response ?? {};
		if (statusCode >= 200 && statusCode < 300) this.#accepted.add(signal);
		else if (!this.#refused.has(signal))
			this.#refused.set(
				signal,
				error === undefined
					? `${statusCode} ${statusMessage}`.trim()
					: error.message || error.code || error.name,
			);
	};

	/** `traces arrived, metrics were refused: 404 Not Found`; `undefined` if every export was accepted. */
	get problem(): string | undefined {
		const refused = SIGNALS.filter((name) => this.#refused.has(name));
		if (refused.length === 0) return undefined;
		const whole = SIGNALS.filter(
			(name) => this.#accepted.has(name) && !this.#refused.has(name),
		);
		const parts = [
			...(whole.length === 0 ? [] : [`${whole.join(" and ")} arrived`]),
			...refused.map((name) =>
				this.#accepted.has(name)
					? `${name} arrived in part`
					: `${name} were refused`,
			),
		];
		return `${parts.join(", ")}: ${[...new Set(this.#refused.values())].join("; ")}`;
	}

	[Symbol.dispose](): void {
		unsubscribe(ANSWERED, this.#count);
		unsubscribe(FAILED, this.#count);
	}
}
