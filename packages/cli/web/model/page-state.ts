import type {
	ControlledEvent,
	Finding,
	ServedTick,
	Verdict,
} from "@snakepit/control";
import type { PageUpdate } from "../../src/dash/run-events.ts";
import type { ListedRun } from "../../src/dash/run-source.ts";
import { type IncidentText, incidentOf } from "../../src/wording/incidents.ts";
import { type ChartHistory, NO_HISTORY, withSample } from "./chart-data.ts";
import { isFine, type SettledCall, settledCall } from "./settled-calls.ts";

/** Whether the page shows the current state of the run. */
export type Link =
	| { readonly kind: "connecting" }
	| { readonly kind: "live" }
	/** The program does not answer. */
	| { readonly kind: "silent"; readonly message: string }
	/** The run is over; the page shows its last known state. */
	| { readonly kind: "gone"; readonly message: string }
	/** The process that serves this page is gone. */
	| { readonly kind: "cut" };

/** The page's data of the run that it shows. */
export interface RunView {
	readonly runId: string;
	readonly link: Link;
	/** The last state. */
	readonly tick: ServedTick | undefined;
	/** Of the last 24 hours while this page was open. */
	readonly history: ChartHistory;
	/** Latest first. */
	readonly calls: {
		readonly failed: readonly SettledCall[];
		readonly succeeded: readonly SettledCall[];
	};
	/** Latest first. */
	readonly incidents: readonly IncidentText[];
	/** How many events this page lost, because it was too slow. */
	readonly lost: number;
	readonly events: number;
}

/** Whether the server of the page answers its requests. */
export type Session =
	| { readonly kind: "asking" }
	/** @see Link `cut` for a server that is gone. */
	| { readonly kind: "closed"; readonly message: string }
	| {
			readonly kind: "open";
			/** The command `snakepit dash`, or a program that has mounted the dashboard. */
			readonly servedBy: "command" | "program";
	  };

export interface PageState {
	readonly session: Session;
	/** Those that live. */
	readonly runs: readonly ListedRun[];
	/** `undefined` while there is none. */
	readonly run: RunView | undefined;
}

export const FIRST_STATE: PageState = {
	session: { kind: "asking" },
	runs: [],
	run: undefined,
};

const CALLS = 500;
/** They come up to 20 a second, and must not push out those that failed. */
const SUCCEEDED_CALLS = 200;
const INCIDENTS = 500;

export function newRunView(runId: string): RunView {
	return {
		...{ runId, link: { kind: "connecting" }, tick: undefined },
		...{ history: NO_HISTORY, calls: { failed: [], succeeded: [] } },
		...{ incidents: [], lost: 0, events: 0 },
	};
}

/** Returns the view after an update. */
export function withUpdate(run: RunView, update: PageUpdate): RunView {
	switch (update.kind) {
		case "state": {
			const { state } = update;
			const history = withSample(run.history, state);
			return { ...run, link: { kind: "live" }, tick: state, history };
		}
		case "event":
			return withEvent(run, update.event);
		case "lost":
			return { ...run, lost: run.lost + update.records };
		case "silent":
			return { ...run, link: { kind: "silent", message: update.message } };
		case "gone":
			return { ...run, link: { kind: "gone", message: update.message } };
	}
}

function withEvent(run: RunView, event: ControlledEvent): RunView {
	const events = run.events + 1;
	if (event.type === "call.settled") {
		const call = settledCall(event, run.runId);
		const { failed, succeeded } = run.calls;
		const calls = isFine(call)
			? { failed, succeeded: [call, ...succeeded].slice(0, SUCCEEDED_CALLS) }
			: { failed: [call, ...failed].slice(0, CALLS), succeeded };
		return { ...run, events, calls };
	}
	const incident = incidentOf(event, events);
	if (incident === undefined) return { ...run, events };
	const incidents = [incident, ...run.incidents].slice(0, INCIDENTS);
	return { ...run, events, incidents };
}

/** One thing that is not fine, of the program or about it. */
export interface PageFinding
	extends Pick<
		Finding,
		"level" | "pool" | "workerId" | "words" | "text" | "remedy"
	> {
	readonly kind: Finding["kind"] | "silent_program";
}

/** What the page says first: in one line, and everything that is not fine. */
export interface PageVerdict extends Pick<Verdict, "level" | "text"> {
	/** The worst first. */
	readonly findings: readonly PageFinding[];
}

export function pageVerdict({ run, session }: PageState): PageVerdict {
	const only = (level: Verdict["level"], text: string): PageVerdict => ({
		...{ level, text, findings: [] },
	});
	if (run === undefined)
		return only(
			"busy",
			"No run can be looked at: start a program that has control on.",
		);
	const { link, tick } = run;
	switch (link.kind) {
		case "connecting":
			return only("fine", `Looking at run ${run.runId}…`);
		case "live":
			return tick?.verdict ?? only("fine", "");
		case "silent":
			return silentVerdict(link.message, tick);
		case "gone":
			return only("trouble", link.message);
		case "cut":
			return only(
				"trouble",
				session.kind === "open" && session.servedBy === "program"
					? "The server of this page does not answer. The page tries again."
					: "The process of `snakepit dash` has ended: run the command again.",
			);
	}
}

/** The program does not answer; what was wrong before may still be. */
function silentVerdict(
	text: string,
	tick: ServedTick | undefined,
): PageVerdict {
	const pid = tick?.run.pid ?? "PID";
	const silent: PageFinding = {
		...{ kind: "silent_program", level: "trouble", words: "does not answer" },
		...{ pool: null, workerId: null, text },
		remedy: `If it is stopped: kill -CONT ${pid}. If not, see where it is: node inspect -p ${pid}.`,
	};
	const findings = [silent, ...(tick?.verdict.findings ?? [])];
	return { level: "trouble", text, findings };
}
