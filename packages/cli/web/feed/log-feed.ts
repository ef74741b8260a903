import type { LogBatchRecord } from "../../src/dash/run-routes.ts";
import {
	carriedLines,
	type LogFilter,
	type LogLines,
	NO_LINES,
	withLines,
} from "../model/log-lines.ts";
import { eventSource, runPath } from "./requests.ts";
import type { Store } from "./store.ts";

interface LogWish extends LogFilter {
	readonly runId: string;
}

export interface LogState extends LogLines {
	/** Every line from now on is sent. */
	readonly following: boolean;
	/** Why no more lines come; `undefined` while lines come. */
	readonly ended: string | undefined;
}

export const NO_LOG: LogState = {
	...NO_LINES,
	following: false,
	ended: undefined,
};

/** Follows the output of workers, after the lines that the page already has; returns the function that stops it. */
export function followLogs(wish: LogWish, store: Store<LogState>): () => void {
	store.update((state) => ({ ...NO_LOG, ...carriedLines(state, wish) }));
	const query = new URLSearchParams({ worker: wish.worker, call: wish.call });
	const source = eventSource(`${runPath(wish.runId, "logs")}?${query}`);
	source.addEventListener("following", () => {
		store.update((state) => ({ ...state, following: true }));
	});
	source.addEventListener("lines", ({ data }) => {
		const batch = JSON.parse(data) as LogBatchRecord;
		store.update((state) => ({ ...state, ...withLines(state, batch) }));
	});
	source.addEventListener("end", ({ data }) => {
		source.close();
		const { message } = JSON.parse(data) as { message?: string };
		const ended = message ?? "The run has ended.";
		store.update((state) => ({ ...state, ended }));
	});
	source.addEventListener("error", () => {
		if (source.readyState !== source.CLOSED) return;
		const ended = "These lines cannot be followed any more.";
		store.update((state) => ({ ...state, ended: state.ended ?? ended }));
	});
	return () => source.close();
}
