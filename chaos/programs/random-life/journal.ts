import { readFileSync } from "node:fs";
import type { MadeCall } from "./made-call.ts";
import type { Observer } from "./observer.ts";

/** What tools wrote down of themselves. */
interface Journal {
	/** By tag: the processes in which it began, once for each time. */
	readonly begun: ReadonlyMap<string, readonly number[]>;
	/** By tag: how many items a stream made, at most. */
	readonly yielded: ReadonlyMap<string, number>;
}

export function readJournal(path: string): Journal {
	const begun = new Map<string, number[]>();
	const yielded = new Map<string, number>();
	for (const line of readFileSync(path, "utf8").split("\n")) {
		const [kind, tag = "", pid, value] = line.split(" ");
		if (kind === "B") begun.set(tag, [...(begun.get(tag) ?? []), Number(pid)]);
		if (kind === "Y")
			yielded.set(tag, Math.max(yielded.get(tag) ?? 0, Number(value)));
	}
	return { begun, yielded };
}

/** Small chunks that may be on their way where no credit is given. */
const SMALL_CHUNKS = 256;

/** Compares what a call was told with what its tool did. */
export function contradictions(
	call: MadeCall,
	{ begun, yielded }: Journal,
	observer: Observer,
	streamCredit: number = SMALL_CHUNKS,
): readonly string[] {
	const found: string[] = [];
	const { tag, outcome, ran, options, callId } = call;
	const pids = begun.get(tag) ?? [];
	const times = pids.length;
	const heard = callId === undefined ? undefined : observer.calls.get(callId);
	const { input, idempotentRetries = 0 } = options;
	const retries = input === undefined ? idempotentRetries : 0;
	if (outcome === undefined) found.push("it never settled");
	if (outcome === "ok" && times === 0)
		found.push("it was answered and never began");
	if (ran === "no" && times > 0) found.push(`it began ${times} times`);
	if (times > 1 + retries)
		found.push(
			`it began ${times} times where ${retries} retries were asked for`,
		);
	const code = heard?.settled[0]?.code;
	if (ran !== undefined && heard !== undefined && code !== outcome)
		found.push(`its event says ${code}`);
	for (const pid of pids) {
		const incarnation = observer.incarnationOf(pid);
		if (!incarnation || !heard?.dispatched.includes(incarnation))
			found.push(`it began in ${pid}, where it was not sent`);
	}
	if (outcome === "WORKER_EXITED" || outcome === "WORKER_HUNG") {
		const worker = observer.workers.get(heard?.dispatched.at(-1) ?? "");
		if (worker?.exited !== 1) found.push("its worker did not end");
	}
	const ahead = (yielded.get(tag) ?? 0) - call.taken;
	if (ahead > streamCredit + 1) found.push(`it was ${ahead} items ahead`);
	return found.map(
		(each) =>
			`${tag} ${call.tool} (${callId}, ${outcome}, ran ${ran}): ${each}`,
	);
}
