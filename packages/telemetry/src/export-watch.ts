import type { EventOf, SnakepitEvent } from "@snakepit/core";
import type { InstrumentProblem } from "@snakepit/core/instrument";
import type { Drops } from "./limits.ts";
import type { ResolvedTelemetryOptions } from "./options.ts";
import { type Flushing, providersOf, signalsOf } from "./registration.ts";

/** An SDK sends its first batch after 5 s: earlier, there may be nothing to send. */
const FIRST_MS = 5_000;
const EVERY_MS = 60_000;
const TRY_MS = 5_000;

/** The loggers of Python's SDK and its exporters, and the bridge's own, which configures the SDK. */
const WORKER_LOGGERS = /^(opentelemetry|snakepit_bridge\.telemetry)\b/;

/** How it reports: once for each reason. */
type Report = (problem: InstrumentProblem) => void;

/**
 * Detects exporters that cannot send: those of this program, by a flush every minute, whose error the SDK would only
 * write to its own log, and those of workers, by what they log.
 */
export class ExportWatch {
	readonly #options: ResolvedTelemetryOptions;
	readonly #drops: Drops;
	readonly #reported = new Set<string>();
	#nextMs: number | undefined;
	#state: "idle" | "trying" = "idle";
	#tries = 0;

	constructor(options: ResolvedTelemetryOptions, drops: Drops) {
		this.#options = options;
		this.#drops = drops;
	}

	/** Called with every event but those of calls. It has no timer of its own, which would outlast the pools. */
	hear(event: SnakepitEvent, report: Report): void {
		if (event.type === "worker.logged") this.#logged(event, report);
		if (event.type === "pool.started") this.#nextMs ??= event.wallMs + FIRST_MS;
		if (this.#nextMs === undefined || event.wallMs < this.#nextMs) return;
		if (this.#state === "trying") return;
		this.#nextMs = event.wallMs + EVERY_MS;
		this.#state = "trying";
		void this.#try(report)
			.catch(() => this.#drops.count("export_failed"))
			.finally(() => {
				this.#state = "idle";
			});
	}

	async #try(report: Report): Promise<void> {
		const providers = providersOf(this.#options);
		const signals = signalsOf(this.#options);
		// A program without an SDK loads no HTTP.
		if (signals.length === 0) return;
		const { otlpEndpoints, tryEndpoint } = await import("./otlp-endpoints.ts");
		const isFirst = this.#tries++ === 0;
		const [spans, records, ...endpoints] = await Promise.all([
			failureOf(providers.traces, "spans"),
			failureOf(providers.logs, "log records"),
			// Nobody learns of a failure to export metrics.
			...(isFirst ? otlpEndpoints(signals) : []).map(async (endpoint) => {
				const answer = await tryEndpoint(endpoint, TRY_MS);
				return answer.kind === "silent"
					? {
							lost: endpoint.signal,
							reason: `${endpoint.url}: ${answer.reason}`,
						}
					: undefined;
			}),
		]);
		for (const failure of [spans, records])
			if (failure !== undefined) this.#drops.count("export_failed");
		const failure = [...endpoints, spans, records].find(
			(each) => each !== undefined,
		);
		if (failure === undefined) return;
		this.#once(report, {
			reason: "exporter_failed",
			message: `The OpenTelemetry SDK cannot export ${failure.lost}: ${failure.reason}. What this program exports is lost meanwhile.`,
			remedy:
				"Start the receiver, or correct OTEL_EXPORTER_OTLP_ENDPOINT and its headers, or the exporter's URL. `snakepit doctor` tries it.",
		});
	}

	#logged(
		{ workerId, record }: EventOf<"worker.logged">,
		report: Report,
	): void {
		const { level, logger, message } = record;
		if (level !== "error" && level !== "critical") return;
		if (!WORKER_LOGGERS.test(logger)) return;
		this.#once(report, {
			reason: "worker_exporter_failed",
			message: `Telemetry of worker ${workerId} is lost: ${logger}: ${message}`,
			remedy:
				"Start the receiver, or correct the OTEL_* variables of the workers, which inherit those of this program: python({ env }). A worker needs opentelemetry-sdk and an exporter.",
		});
	}

	#once(report: Report, problem: InstrumentProblem): void {
		if (this.#reported.has(problem.reason)) return;
		this.#reported.add(problem.reason);
		report(problem);
	}
}

interface Failure {
	/** What is not exported. */
	readonly lost: string;
	readonly reason: string;
}

/** Why a provider cannot export, if it can say so. */
export async function failureOf(
	provider: Flushing | undefined,
	lost: string,
): Promise<Failure | undefined> {
	try {
		await provider?.forceFlush?.();
		return undefined;
	} catch (error) {
		return { lost, reason: reasonOf(error) };
	}
}

/** A provider rejects with the errors of its processors. */
function reasonOf(error: unknown): string {
	const first: unknown = Array.isArray(error) ? error[0] : error;
	const { message, code, errors } = (first ?? {}) as Partial<AggregateError> & {
		readonly code?: unknown;
	};
	const [inner] = (errors ?? []) as readonly Partial<Error>[];
	const text = message || inner?.message || String(code ?? first);
	return text.replace(/\.$/, "");
}
