import type { WorkerSnapshot } from "@snakepit/control";
import { counted } from "../../src/wording/figures.ts";
import type { Tone } from "../../src/wording/incidents.ts";

export interface WorkerStatus {
	readonly word: string;
	readonly tone: Tone;
	/** More than the word says. */
	readonly detail: string | undefined;
}

/** Of what is as good or bad. */
export const TONES = { fine: "good", busy: "warn", trouble: "bad" } as const;

/** Like the verdict of the run, the page marks a worker that has not answered for this long. */
const SILENT_MS = 5_000;

/** The status of a worker, in one word. A busy worker stays in the list, and a hung one is shown before it is killed. */
export function workerStatus(worker: WorkerSnapshot): WorkerStatus {
	const { state, running, heartbeat } = worker;
	if (state !== "ready")
		return {
			word: state,
			tone: state === "exited" ? "bad" : "quiet",
			detail: undefined,
		};
	const isSilent =
		heartbeat !== null &&
		heartbeat.silentMs > SILENT_MS &&
		heartbeat.missedInARow > 0;
	const seconds = ((heartbeat?.silentMs ?? 0) / 1_000).toFixed(1);
	const detail = `silent for ${seconds} s`;
	if (heartbeat?.status === "busy")
		return { word: "busy", tone: "active", detail: `${detail}, but computes` };
	if (heartbeat?.status === "hung" || isSilent)
		return { word: "hung", tone: "bad", detail };
	if (heartbeat?.status === "suspect")
		return { word: "suspect", tone: "warn", detail };
	if (running.length > 0)
		return { word: "busy", tone: "active", detail: undefined };
	return { word: "idle", tone: "good", detail: undefined };
}

/** When a worker will be replaced, in words; `undefined` if it has no limit. */
export function recycleWords(
	{ recycle }: WorkerSnapshot,
	words: {
		readonly duration: (ms: number) => string;
		readonly bytes: (count: number) => string;
	},
): string | undefined {
	const { inMs, inCalls, aboveResidentBytes } = recycle;
	const parts = [
		inMs === null ? [] : `in ${words.duration(inMs)}`,
		inCalls === null ? [] : `in ${counted(inCalls, "call")}`,
		aboveResidentBytes === null
			? []
			: `above ${words.bytes(aboveResidentBytes)}`,
	].flat();
	return parts.length === 0 ? undefined : parts.join(" or ");
}
