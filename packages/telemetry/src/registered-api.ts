/** The providers that are registered with one copy of `@opentelemetry/api`, for all copies in the program. */
export interface RegisteredApi {
	/** The version of the copy that registered first. */
	readonly version: string;
	readonly trace?: unknown;
	readonly metrics?: unknown;
	readonly logs?: unknown;
}

/** Source: @opentelemetry/api, internal/global-utils. */
const KEY = /^opentelemetry\.js\.api\.\d+$/;

/**
 * Returns what is registered in this program, whether or not this package's own copy
 * of the API can use it; `undefined` if nothing is.
 */
export function registeredApi(): RegisteredApi | undefined {
	for (const key of Object.getOwnPropertySymbols(globalThis)) {
		if (!KEY.test(key.description ?? "")) continue;
		const api = (globalThis as { [key]?: RegisteredApi })[key];
		if (typeof api?.version === "string") return api;
	}
	return undefined;
}
