import { readFileSync } from "node:fs";
import type {
	ExecuteOptions,
	PoolSession,
	Ran,
	SnakepitError,
} from "@snakepit/core";
import type { Observer } from "./observer.ts";
import type { Chosen } from "./setting.ts";

/** One call, and what is known of it. */
export interface MadeCall {
	/** Its own, and what its tool writes into the journal. */
	readonly tag: string;
	readonly tool: string;
	readonly options: ExecuteOptions;
	readonly session: KnownSession | undefined;
	/** Codes that it may fail with, beside those that any call may. */
	readonly mayFail: readonly string[];
	readonly madeAt: number;
	callId: string | undefined;
	/** A code, `ok`, or `left` for a stream that its consumer left. */
	outcome: string | undefined;
	ran: Ran | undefined;
	/** Items that a consumer took. */
	taken: number;
}

/** One session, and what its tools must remember. */
export interface KnownSession {
	readonly session: PoolSession;
	readonly affinity: "strict" | "hint";
	/** Tags of its calls. */
	readonly made: Set<string>;
	/** Those that were answered, in the order of their answers. */
	readonly answered: string[];
	state: "open" | "closed";
}

/** Describes an error in the state of a session that one of its tools reported. */
export function wrongInSession(
	session: KnownSession,
	tag: string,
	found: readonly string[],
	answeredBefore: number,
): readonly string[] {
	const wrong: string[] = [];
	for (const each of found)
		if (!session.made.has(each)) wrong.push(`${each} of another session`);
	if (new Set(found).size !== found.length) wrong.push("a tag twice");
	if (!found.includes(tag)) wrong.push("not its own tag");
	if (session.affinity === "strict")
		for (const each of session.answered.slice(0, answeredBefore))
			if (!found.includes(each)) wrong.push(`no ${each} any more`);
	return wrong;
}

/** The codes with which a call may end, whatever its tool does. */
const ANY_CALL: ReadonlySet<string> = new Set([
	"CALL_ABORTED",
	"CALL_TIMEOUT",
	"QUEUE_TIMEOUT",
	"QUEUE_FULL",
	"POOL_CLOSED",
	"WORKER_EXITED",
	"WORKER_REPLACED",
	"WORKER_HUNG",
	"SESSION_LOST",
	"SESSION_CLOSED",
]);

/**
 * What is wrong with the error that a call ended with; `undefined` when nothing is.
 *
 * @param state whether the pool was closed by the time the call ended.
 */
export function wrongWith(
	call: MadeCall,
	{ code, ran, cause }: SnakepitError,
	{ queueLimit, ttlMs }: Chosen,
	state: "open" | "closing",
): string | undefined {
	if (!ANY_CALL.has(code) && !call.mayFail.includes(code))
		return "nothing that was done leads to it";
	const { options, session, madeAt } = call;
	const { signal, timeoutMs, queueTimeoutMs, input } = options;
	const unless = (right: boolean, text: string): string | undefined =>
		right ? undefined : text;
	switch (code) {
		case "CALL_ABORTED":
			if (signal?.aborted !== true) return "nobody aborted it";
			return unless(cause === signal.reason, "another reason");
		case "CALL_TIMEOUT": {
			const tookMs = performance.now() - madeAt;
			return unless(
				timeoutMs !== undefined && tookMs > timeoutMs - 5,
				`${tookMs} ms of ${timeoutMs}`,
			);
		}
		case "QUEUE_TIMEOUT":
			return unless(queueTimeoutMs !== undefined, "it had no limit");
		case "QUEUE_FULL":
			return unless(queueLimit <= 100, "it was not full");
		case "POOL_CLOSED":
			return unless(state !== "open", "it is open");
		case "WORKER_REPLACED":
			// A call that a leaving worker refuses runs on the next worker, unless it has read some of its input.
			return unless(
				ran !== "no" || input !== undefined,
				"no other worker was tried",
			);
		case "SESSION_LOST":
			return unless(session?.affinity === "strict", "it is not strict");
		case "SESSION_CLOSED":
			return unless(
				session?.state !== "open" || ttlMs <= 1_000 || state !== "open",
				"it is open",
			);
		default:
			return undefined;
	}
}

/** The journal of the tools. */
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

/** Small chunks that may be in transit without credit. */
const SMALL_CHUNKS = 256;

/** Compares how a call ended with what its tool did. */
export function contradictions(
	call: MadeCall,
	{ begun, yielded }: Journal,
	observer: Observer,
	streamCredit: number = SMALL_CHUNKS,
): readonly string[] {
	const { tag, outcome, ran, options, callId } = call;
	const pids = begun.get(tag) ?? [];
	const times = pids.length;
	const seen = callId === undefined ? undefined : observer.calls.get(callId);
	const { input, retry } = options;
	const retries = input === undefined && retry ? retry.attempts - 1 : 0;
	const code = seen?.settled[0]?.code;
	const worker = observer.workers.get(seen?.dispatched.at(-1) ?? "");
	const isLost = outcome === "WORKER_EXITED" || outcome === "WORKER_HUNG";
	const ahead = (yielded.get(tag) ?? 0) - call.taken;
	const checks: readonly (readonly [wrong: boolean, text: string])[] = [
		[outcome === undefined, "it never settled"],
		[outcome === "ok" && times === 0, "it was answered and never began"],
		[ran === "no" && times > 0, `it began ${times} times`],
		[times > 1 + retries, `it began ${times} times with ${retries} retries`],
		[
			ran !== undefined && seen !== undefined && code !== outcome,
			`its event has ${code}`,
		],
		...pids.map((pid) => {
			const incarnation = observer.incarnationOf(pid);
			return [
				!incarnation || !seen?.dispatched.includes(incarnation),
				`it began in ${pid}, where it was not sent`,
			] as const;
		}),
		[isLost && worker?.exited !== 1, "its worker did not end"],
		[ahead > streamCredit + 1, `it was ${ahead} items ahead`],
	];
	return checks
		.filter(([wrong]) => wrong)
		.map(
			([, text]) =>
				`${tag} ${call.tool} (${callId}, ${outcome}, ran ${ran}): ${text}`,
		);
}
