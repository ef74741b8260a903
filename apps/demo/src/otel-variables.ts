type Variables = Readonly<Record<string, string>>;

/** An export that takes longer has failed. */
const EXPORT_WITHIN_MS = 5_000;

const SHARED: Variables = {
	OTEL_RESOURCE_ATTRIBUTES: "service.namespace=snakepit",
	// The demo lasts for seconds, and a killed process loses what it has not sent.
	OTEL_BSP_SCHEDULE_DELAY: "250",
	OTEL_BLRP_SCHEDULE_DELAY: "250",
	// Not shorter than an export may take.
	OTEL_METRIC_EXPORT_INTERVAL: "5000",
};

/** Returns the variables to set for the SDK in this program; those that the user has set stay. */
export function hostVariables(
	endpoint: string,
	environ: NodeJS.ProcessEnv,
): Variables {
	const wanted = {
		...SHARED,
		OTEL_SERVICE_NAME: "snakepit-demo",
		// Without those of process and host, which send arguments, paths and names of this machine.
		OTEL_NODE_RESOURCE_DETECTORS: "env,serviceinstance",
		OTEL_EXPORTER_OTLP_TIMEOUT: `${EXPORT_WITHIN_MS}`,
		OTEL_METRIC_EXPORT_TIMEOUT: `${EXPORT_WITHIN_MS}`,
		// All images are in the queue at once, and each call has several spans.
		OTEL_BSP_MAX_QUEUE_SIZE: "16384",
	};
	return { ...unlessSet(wanted, environ), ...destination(endpoint) };
}

/** Returns the same for the SDK in each worker. */
export function workerVariables(
	endpoint: string,
	environ: NodeJS.ProcessEnv,
): Variables {
	const wanted = {
		...SHARED,
		OTEL_SERVICE_NAME: "snakepit-demo-workers",
		// Python's SDK reads seconds, JavaScript's milliseconds.
		OTEL_EXPORTER_OTLP_TIMEOUT: `${EXPORT_WITHIN_MS / 1_000}`,
		OTEL_PYTHON_LOGGING_AUTO_INSTRUMENTATION_ENABLED: "true",
	};
	return { ...unlessSet(wanted, environ), ...destination(endpoint) };
}

/** `--otlp` overrides every variable that names a destination, also those of single signals. */
function destination(endpoint: string): Variables {
	const variables: Record<string, string> = {
		OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
		OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
	};
	for (const signal of ["traces", "metrics", "logs"]) {
		const name = signal.toUpperCase();
		variables[`OTEL_${name}_EXPORTER`] = "otlp";
		variables[`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`] =
			`${endpoint}/v1/${signal}`;
		variables[`OTEL_EXPORTER_OTLP_${name}_PROTOCOL`] = "http/protobuf";
	}
	return variables;
}

function unlessSet(wanted: Variables, environ: NodeJS.ProcessEnv): Variables {
	return Object.fromEntries(
		Object.entries(wanted).filter(([name]) => !environ[name]),
	);
}
