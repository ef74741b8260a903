import { installSdk } from "../../src/otlp/sdk.ts";

/** Whether OpenTelemetry's SDK is there, or could be installed; where not, tests that need it say so and are skipped. */
export function hasSdk(): boolean {
	const { problem } = installSdk();
	if (problem !== undefined)
		console.warn(
			`Skipped: OpenTelemetry's SDK is not installed and cannot be: ${problem}`,
		);
	return problem === undefined;
}
