import type { StacksSnapshot } from "@snakepit/control";
import { useEffect, useState } from "preact/hooks";
import {
	counted,
	duration,
	plainText,
	timeOfDay,
} from "../../src/wording/figures.ts";
import { type ThreadStack, threadsOf } from "../../src/wording/stacks.ts";
import { post, type RequestError, runPath } from "../feed/requests.ts";
import { fragmentOf } from "../model/addresses.ts";
import { Name } from "./name.tsx";
import { usePage } from "./page-context.ts";

type Answer =
	| { readonly kind: "asking" }
	| { readonly kind: "known"; readonly stacks: StacksSnapshot }
	| { readonly kind: "failed"; readonly message: string };

/** Where the threads of a worker are now, busy or hung; the worker goes on. */
export function Stacks({
	pool,
	workerId,
}: {
	readonly pool: string;
	readonly workerId: string;
}) {
	const { runId } = usePage();
	const [answer, setAnswer] = useState<Answer>({ kind: "asking" });
	const [asked, setAsked] = useState(0);
	useEffect(() => {
		if (runId === "") return;
		const abort = new AbortController();
		setAnswer({ kind: "asking" });
		const query = new URLSearchParams({ worker: workerId });
		post<StacksSnapshot>(
			`${runPath(runId, "pools", pool, "stacks")}?${query}`,
			{},
			abort.signal,
		).then(
			(stacks) => setAnswer({ kind: "known", stacks }),
			({ message }: RequestError) => {
				if (!abort.signal.aborted) setAnswer({ kind: "failed", message });
			},
		);
		return () => abort.abort();
	}, [runId, pool, workerId, asked]);
	return (
		<section class="stacks" aria-label={`Stacks of ${workerId}`}>
			<div class="section-head">
				<h2>
					Where <Name text={workerId} /> is
				</h2>
				{answer.kind === "known" && <Facts stacks={answer.stacks} />}
			</div>
			{answer.kind === "asking" && <p class="empty">Asking the worker…</p>}
			{answer.kind === "failed" && <p class="empty">{answer.message}</p>}
			{answer.kind === "known" && <Threads lines={answer.stacks.lines} />}
			<p>
				<button
					type="button"
					disabled={answer.kind === "asking"}
					onClick={() => setAsked(asked + 1)}
				>
					Again
				</button>{" "}
				<a href={fragmentOf("workers")}>Close</a>
			</p>
		</section>
	);
}

/** What the tools do comes first; the bridge's own threads are there for who asks. */
function Threads({ lines }: { readonly lines: readonly string[] }) {
	const threads = threadsOf(lines);
	// A program that is not Python.
	if (threads.length === 0) return <pre>{plainText(lines.join("\n"))}</pre>;
	const ofTools = threads.filter(({ runs }) => runs === "tools");
	const ofBridge = threads.filter(({ runs }) => runs === "bridge");
	return (
		<>
			{ofTools.length === 0 && <p>No thread runs code of the tools.</p>}
			{ofTools.map((thread) => (
				<Thread key={thread.name} thread={thread} />
			))}
			{ofBridge.length > 0 && (
				<details>
					<summary>{counted(ofBridge.length, "thread")} of the bridge</summary>
					{ofBridge.map((thread) => (
						<Thread key={thread.name} thread={thread} />
					))}
				</details>
			)}
		</>
	);
}

function Thread({
	thread: { name, frames, below },
}: {
	readonly thread: ThreadStack;
}) {
	const left =
		below > 0 ? [`  … ${counted(below, "frame")} of the bridge`] : [];
	return (
		<>
			<h3>
				<Name text={name} /> <small>most recent call first</small>
			</h3>
			<pre>{plainText([...frames, ...left].join("\n"))}</pre>
		</>
	);
}

function Facts({ stacks }: { readonly stacks: StacksSnapshot }) {
	const { wallMs, pid, how, running } = stacks;
	return (
		<p class="facts">
			<span>at {timeOfDay(wallMs)}</span>
			{pid !== null && <span>pid {pid}</span>}
			<span>
				{how === "asked"
					? "written by the program itself"
					: "nothing in the program reacted: written by a signal handler"}
			</span>
			{running.map((call) => (
				<span key={call.callId}>
					runs <Name text={call.command} /> for {duration(call.forMs)}
				</span>
			))}
		</p>
	);
}
