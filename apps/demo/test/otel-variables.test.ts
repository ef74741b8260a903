import { expect, test } from "vitest";
import { hostVariables, workerVariables } from "../src/otel-variables.ts";

const url = "http://127.0.0.1:4318";

test("host and workers export to one place under different service names", () => {
	const [host, workers] = [hostVariables(url, {}), workerVariables(url, {})];
	for (const variables of [host, workers])
		expect(variables).toMatchObject({
			OTEL_EXPORTER_OTLP_ENDPOINT: url,
			OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
			OTEL_RESOURCE_ATTRIBUTES: "service.namespace=snakepit",
		});
	expect(host["OTEL_SERVICE_NAME"]).not.toBe(workers["OTEL_SERVICE_NAME"]);
});

test("variables that the user has set stay, except for the destination", () => {
	const environ = {
		OTEL_SERVICE_NAME: "mine",
		OTEL_BSP_SCHEDULE_DELAY: "1000",
		OTEL_EXPORTER_OTLP_ENDPOINT: "http://elsewhere",
		OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://elsewhere/v1/traces",
		OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: "grpc",
		OTEL_TRACES_EXPORTER: "none",
		OTEL_METRIC_EXPORT_INTERVAL: "",
	};
	for (const variables of [hostVariables, workerVariables]) {
		const set = variables(url, environ);
		expect(set).not.toHaveProperty("OTEL_SERVICE_NAME");
		expect(set).not.toHaveProperty("OTEL_BSP_SCHEDULE_DELAY");
		expect(set).toMatchObject({
			OTEL_EXPORTER_OTLP_ENDPOINT: url,
			OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces`,
			OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: "http/protobuf",
			OTEL_TRACES_EXPORTER: "otlp",
			OTEL_METRIC_EXPORT_INTERVAL: "5000",
		});
	}
});
