import { diag } from "@opentelemetry/api";
import { NodeSDK } from "@opentelemetry/sdk-node";
import type { SnakepitEvent } from "@snakepit/core";
import type { Instrument } from "@snakepit/core/instrument";
import { telemetry } from "@snakepit/telemetry";

/** An export that takes longer has failed; the demo waits as long for a receiver at its end. */
const EXPORT_WITHIN_MS = 5_000;

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
	readonly #sdk: NodeSDK;
	#problem: string | undefined;

	/** Starts the SDK, which must happen before the pool is made. */
	constructor(endpoint: string) {
		this.#endpoint = endpoint;
		this.workerEnv = variables(endpoint, {
			OTEL_SERVICE_NAME: "snakepit-demo-workers",
			// Python's SDK reads seconds, JavaScript's milliseconds.
			OTEL_EXPORTER_OTLP_TIMEOUT: `${EXPORT_WITHIN_MS / 1_000}`,
			OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED: "true",
		});
		Object.assign(
			process.env,
			variables(endpoint, {
				OTEL_SERVICE_NAME: "snakepit-demo",
				// Without those of process and host, which send arguments, paths and names of this machine.
				OTEL_NODE_RESOURCE_DETECTORS: "env,serviceinstance",
				OTEL_EXPORTER_OTLP_TIMEOUT: `${EXPORT_WITHIN_MS}`,
				OTEL_METRIC_EXPORT_TIMEOUT: `${EXPORT_WITHIN_MS}`,
				// All images are in the queue at once, and each call has several spans.
				OTEL_BSP_MAX_QUEUE_SIZE: "16384",
			}),
		);
		this.#sdk = new NodeSDK();
		const ignore = () => {};
		diag.setLogger(
			{
				error: (message) => this.#note(errorMessage(message)),
				...{ warn: ignore, info: ignore, debug: ignore, verbose: ignore },
			},
			{ suppressOverrideMessage: true },
		);
		this.#sdk.start();
	}

	/** Whether an event is only about exports: a failing receiver is reported once, at the end, not by every worker. */
	isAboutExports(event: SnakepitEvent): boolean {
		if (event.type !== "worker.logged") return false;
		const { logger, level, message } = event.record;
		if (!/^(opentelemetry|snakepit_bridge\.telemetry)\b/.test(logger))
			return false;
		if (level !== "debug" && level !== "info")
			this.#note(`${event.workerId}: ${message}`);
		return true;
	}

	/** Sends what is left, stops the SDK, and says whether everything arrived. */
	async end(): Promise<string> {
		const late = Promise.withResolvers<void>();
		const timer = setTimeout(() => {
			this.#note(`no answer for ${EXPORT_WITHIN_MS / 1_000} s`);
			late.resolve();
			// An SDK that is still trying would keep the program alive.
			setImmediate(() => process.exit());
		}, EXPORT_WITHIN_MS);
		const ended = this.#sdk
			.shutdown()
			.catch((error: Error) => this.#note(error.message));
		await Promise.race([ended, late.promise]);
		clearTimeout(timer);
		return this.#problem === undefined
			? `sent to ${this.#endpoint}`
			: `had trouble with ${this.#endpoint}: ${this.#problem}`;
	}

	#note(problem: string): void {
		this.#problem ??= problem.split("\n")[0] ?? problem;
	}
}

/** The variables of an SDK; those that the user has set stay, except the destination. */
function variables(
	endpoint: string,
	own: Readonly<Record<string, string>>,
): Record<string, string> {
	const defaults = {
		OTEL_RESOURCE_ATTRIBUTES: "service.namespace=snakepit",
		OTEL_TRACES_EXPORTER: "otlp",
		OTEL_METRICS_EXPORTER: "otlp",
		OTEL_LOGS_EXPORTER: "otlp",
		// The demo lasts for seconds, and a killed process loses what it has not sent.
		OTEL_BSP_SCHEDULE_DELAY: "250",
		OTEL_BLRP_SCHEDULE_DELAY: "250",
		// Not shorter than an export may take.
		OTEL_METRIC_EXPORT_INTERVAL: `${EXPORT_WITHIN_MS}`,
		...own,
	};
	return {
		...Object.fromEntries(
			Object.entries(defaults).filter(([name]) => !process.env[name]),
		),
		OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
		OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
	};
}

/** The SDK's diagnostic logger gets errors as JSON. */
function errorMessage(text: string): string {
	try {
		const { message } = JSON.parse(text) as { message?: unknown };
		return typeof message === "string" ? message : text;
	} catch {
		return text;
	}
}
