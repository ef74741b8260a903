/** Variables as the specification of OpenTelemetry names them. */
export type OtelVariables = Readonly<Record<`OTEL_${string}`, string>>;

/** Variables that are set already. */
export type Environ = Readonly<Record<string, string | undefined>>;

/** An export that takes longer has failed. */
const EXPORT_WITHIN_MS = 5_000;
/** The demo lasts for seconds, and a process that is killed loses what it has not sent. */
const SEND_EVERY_MS = 250;
/** Not shorter than an export may take. */
const MEASURE_EVERY_MS = 5_000;

/** What the SDK in this program is to be told beside what it is told already. */
export function hostVariables(
	endpoint: string,
	environ: Environ,
): OtelVariables {
	return {
		...unlessSet(environ, {
			...PACE,
			OTEL_SERVICE_NAME: "snakepit-demo",
			// Not those of process and host: they tell arguments, paths and names of this machine.
			OTEL_NODE_RESOURCE_DETECTORS: "env,serviceinstance",
			OTEL_EXPORTER_OTLP_TIMEOUT: `${EXPORT_WITHIN_MS}`,
			OTEL_METRIC_EXPORT_TIMEOUT: `${EXPORT_WITHIN_MS}`,
			// Every image is asked for at once, and each call has several spans.
			OTEL_BSP_MAX_QUEUE_SIZE: "16384",
		}),
		...way(endpoint),
	};
}

/** The same for the SDK in each worker. */
export function workerVariables(
	endpoint: string,
	environ: Environ,
): OtelVariables {
	return {
		...unlessSet(environ, {
			...PACE,
			OTEL_SERVICE_NAME: "snakepit-demo-workers",
			// Python's SDK takes seconds here, that of JavaScript milliseconds.
			OTEL_EXPORTER_OTLP_TIMEOUT: `${EXPORT_WITHIN_MS / 1_000}`,
			OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED: "true",
		}),
		...way(endpoint),
	};
}

const PACE: OtelVariables = {
	OTEL_RESOURCE_ATTRIBUTES: "service.namespace=snakepit",
	OTEL_BSP_SCHEDULE_DELAY: `${SEND_EVERY_MS}`,
	OTEL_BLRP_SCHEDULE_DELAY: `${SEND_EVERY_MS}`,
	OTEL_METRIC_EXPORT_INTERVAL: `${MEASURE_EVERY_MS}`,
};

/** What `--otlp` says, whatever else is set. */
function way(endpoint: string): OtelVariables {
	return {
		OTEL_TRACES_EXPORTER: "otlp",
		OTEL_METRICS_EXPORTER: "otlp",
		OTEL_LOGS_EXPORTER: "otlp",
		OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
		OTEL_EXPORTER_OTLP_PROTOCOL: PROTOCOL,
		...Object.assign({}, ...SIGNALS.map((name) => signalsWay(endpoint, name))),
	};
}

const PROTOCOL = "http/protobuf";
const SIGNALS = ["traces", "metrics", "logs"] as const;

/** One signal's own variables, which go before those for all: somebody may have set them. */
function signalsWay(
	endpoint: string,
	name: (typeof SIGNALS)[number],
): OtelVariables {
	const prefix = `OTEL_EXPORTER_OTLP_${name.toUpperCase()}` as const;
	return {
		[`${prefix}_ENDPOINT`]: `${endpoint}/v1/${name}`,
		[`${prefix}_PROTOCOL`]: PROTOCOL,
	};
}

function unlessSet(environ: Environ, variables: OtelVariables): OtelVariables {
	return Object.fromEntries(
		Object.entries(variables).filter(([name]) => !environ[name]),
	);
}
