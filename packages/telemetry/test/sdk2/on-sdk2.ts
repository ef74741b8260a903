import type { EventOf } from "@snakepit/core";
import type { LayerReport } from "@snakepit/core/protection";
import type { CollectedLines } from "../support/collected.ts";

/** What the program tells. */
export interface OnSdk2 {
	readonly lines: CollectedLines;
	/** Whether the API that the package found is a later one than SDK 2's. */
	readonly apiHasLogs: boolean;
	/** What travelled to the worker with a call. */
	readonly headers: unknown;
	/** The caller's own span, the call and its attempt. */
	readonly spans: readonly {
		readonly name: string | undefined;
		readonly traceId: string | undefined;
		readonly spanId: string | undefined;
		readonly parentSpanId: string | undefined;
	}[];
}

/** What the package says where its API is newer than the registered one. */
export interface OnNewerApi {
	readonly misconfigured: readonly EventOf<"telemetry.misconfigured">[];
	readonly spans: number;
	readonly events: readonly (string | undefined)[];
	readonly doctor: LayerReport | undefined;
}
