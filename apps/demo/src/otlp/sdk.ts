import { createRequire } from "node:module";
import { join } from "node:path";
import { installTogether } from "../../../../scripts/packages-on-demand.ts";

/**
 * OpenTelemetry's packages are not there when this is type-checked: what is used
 * of them is written down here.
 */
export interface Sdk {
	readonly NodeSDK: new () => {
		start(): void;
		shutdown(): Promise<void>;
	};
	readonly diag: {
		setLogger(
			logger: Readonly<Record<DiagLevel, (...what: unknown[]) => void>>,
			options: { readonly suppressOverrideMessage: true },
		): boolean;
	};
}
type DiagLevel = "error" | "warn" | "info" | "debug" | "verbose";

/** OpenTelemetry's SDK was asked for and cannot be installed. */
export class SdkMissingError extends Error {
	readonly code = "SDK_MISSING";

	constructor(problem: string) {
		super(
			`--otlp needs OpenTelemetry's SDK, which is installed when it is first asked for, and that did not work: ${problem}. Try again where npm reaches its registry, or leave --otlp out.`,
		);
		this.name = "SdkMissingError";
	}
}

/**
 * The versions. That of the API is the very one with which `@snakepit/telemetry` is
 * developed: the SDK registers with its own copy what telemetry asks of another
 * copy, and copies of different versions may be silent to each other.
 */
const MANIFEST = join(import.meta.dirname, "../../opentelemetry/package.json");

/**
 * Installs the SDK or finds it installed, and loads it.
 *
 * @throws SdkMissingError.
 */
export function loadSdk(): Sdk {
	const { directory, problem } = installSdk();
	if (problem !== undefined) throw new SdkMissingError(problem);
	// Both by `require`: their form as modules would be further copies.
	const require = createRequire(join(directory, "package.json"));
	const { NodeSDK } = require("@opentelemetry/sdk-node");
	const { diag } = require("@opentelemetry/api");
	return { NodeSDK, diag };
}

/** Installs the SDK where it is not yet; its problem says why that did not work. */
export function installSdk(): ReturnType<typeof installTogether> {
	return installTogether(MANIFEST, "opentelemetry");
}
