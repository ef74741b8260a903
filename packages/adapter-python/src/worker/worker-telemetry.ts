import type { ResolvedOptions, WorkerEnv } from "../options.ts";

const NAME = "OTEL_SERVICE_NAME";
const ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES";
const NAME_ATTRIBUTE = "service.name";

/** What a worker does with an OpenTelemetry SDK that it configures itself. */
export interface WorkerTelemetry {
	/** The name of its service; absent if its own variables name it. */
	readonly serviceName?: string;
	/** Whether the installed instrumentors run. */
	readonly instrument: boolean;
}

/**
 * The part of the launch message that is about OpenTelemetry. A worker's service is that of its host with `-workers`,
 * because a backend would otherwise show both as one.
 *
 * @param program the name of the host's program, for a host that names no service.
 */
export function workerTelemetry(
	{ opentelemetry }: Pick<ResolvedOptions, "opentelemetry">,
	host: { readonly env: WorkerEnv; readonly program: string },
	own: WorkerEnv,
): WorkerTelemetry {
	const instrument = opentelemetry === "auto";
	if (serviceOf(own) !== undefined) return { instrument };
	const service = serviceOf(host.env) ?? host.program;
	return { serviceName: `${service}-workers`, instrument };
}

function serviceOf({
	[NAME]: name,
	[ATTRIBUTES]: attributes = "",
}: WorkerEnv): string | undefined {
	if (name !== undefined && name.trim() !== "") return name.trim();
	for (const attribute of attributes.split(",")) {
		const [key = "", value = ""] = attribute.split("=", 2);
		if (key.trim() === NAME_ATTRIBUTE && value.trim() !== "")
			return decoded(value.trim());
	}
	return undefined;
}

/** Values are percent-encoded, as in W3C baggage. */
function decoded(value: string): string {
	try {
		return decodeURIComponent(value);
	} catch {
		return value;
	}
}
