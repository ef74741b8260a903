import type { RecordedCall } from "../../src/dash/run-source.ts";
import { recordedCall, type SettledCall } from "../model/settled-calls.ts";
import { get, type RequestError } from "./requests.ts";

/** The failed calls of the ledgers: of this run and of earlier ones. */
export interface RecordedCalls {
	readonly state: "asking" | "known" | "unknown";
	readonly calls: readonly SettledCall[];
	/** Why they cannot be read. */
	readonly problem: string | undefined;
}

export const NOT_YET: RecordedCalls = {
	...{ state: "asking", calls: [], problem: undefined },
};

/** A new one is on the page before: from its event. */
const REFRESH_MS = 10_000;

/** Reads them now, and from time to time; returns the function that stops it. */
export function followRecordedCalls(
	show: (recorded: RecordedCalls) => void,
): () => void {
	let wanted: "wanted" | "over" = "wanted";
	const read = async (): Promise<void> => {
		try {
			const { calls } = await get<{ calls: readonly RecordedCall[] }>(
				"api/failed-calls",
			);
			if (wanted === "over") return;
			show({
				...{ state: "known", problem: undefined },
				calls: calls.map(recordedCall),
			});
		} catch (error) {
			if (wanted === "over") return;
			const { message } = error as RequestError;
			show({ state: "unknown", calls: [], problem: message });
		}
	};
	void read();
	const timer = setInterval(read, REFRESH_MS);
	return () => {
		wanted = "over";
		clearInterval(timer);
	};
}
