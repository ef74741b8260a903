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
	/** How many lines before them the program does not keep any more. */
	readonly dropped: number;
	/** Every line from now on is sent. */
	readonly following: boolean;
	/** Why no more lines come; `undefined` while lines come. */
	readonly ended: string | undefined;
}

export const NO_LOG: LogState = {
	...NO_LINES,
	...{ dropped: 0, following: false, ended: undefined },
};

/**
 * Follows the output of workers: first the last lines that the program keeps, then each new one. Those that the page
 * already has stay only where the program does not answer any more. Returns the function that stops it.
 */
export function followLogs(wish: LogWish, store: Store<LogState>): () => void {
	store.update((state) => ({ ...NO_LOG, ...carriedLines(state, wish) }));
	const { worker, call, pool } = wish;
	const query = new URLSearchParams({ worker, call, pool });
	let end = (): void => {};
	const source = eventSource(`${runPath(wish.runId, "logs")}?${query}`);
	let state: "asked" | "answered" = "asked";
	/** The first answer replaces what the page has. */
	const update = (change: (state: LogState) => LogState): void => {
		const first = state === "asked" ? NO_LINES : {};
		state = "answered";
		store.update((known) => change({ ...known, ...first }));
	};
	source.addEventListener("following", () => {
		update((known) => ({ ...known, following: true }));
	});
	source.addEventListener("dropped", ({ data }) => {
		const { lines } = JSON.parse(data) as { lines: number };
		update((known) => ({ ...known, dropped: lines }));
	});
	source.addEventListener("lines", ({ data }) => {
		const batch = JSON.parse(data) as LogBatchRecord;
		update((known) => ({ ...known, ...withLines(known, batch) }));
	});
	source.addEventListener("again", () => {
		source.close();
		end = followLogs(wish, store);
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
	return () => {
		source.close();
		end();
	};
}
