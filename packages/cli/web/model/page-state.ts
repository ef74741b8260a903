import type { ControlledEvent, ServedTick, Verdict } from "@snakepit/control";
import type { ListedRun } from "../../src/dash/dash.ts";
import type { PageUpdate } from "../../src/dash/run-routes.ts";
import { type IncidentText, incidentOf } from "../../src/wording/incidents.ts";
import { type Bin, withSample } from "./chart-data.ts";
import { type SettledCall, settledCall } from "./settled-calls.ts";

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
	/** Of the last 15 minutes while this page was open. */
	readonly bins: readonly Bin[];
	/** Latest first. */
	readonly calls: readonly SettledCall[];
	/** Latest first. */
	readonly incidents: readonly IncidentText[];
	/** How many events this page lost, because it was too slow. */
	readonly lost: number;
	readonly events: number;
}

export interface PageState {
	readonly session: "asking" | "closed" | "open";
	/** Those that live. */
	readonly runs: readonly ListedRun[];
	/** `undefined` while there is none. */
	readonly run: RunView | undefined;
}

export const FIRST_STATE: PageState = {
	session: "asking",
	runs: [],
	run: undefined,
};

const CALLS = 500;
const INCIDENTS = 500;

export function newRunView(runId: string): RunView {
	return {
		...{ runId, link: { kind: "connecting" }, tick: undefined, bins: [] },
		...{ calls: [], incidents: [], lost: 0, events: 0 },
	};
}

/** Returns the view after an update. */
export function withUpdate(run: RunView, update: PageUpdate): RunView {
	switch (update.kind) {
		case "state": {
			const { state } = update;
			const bins = withSample(run.bins, state);
			return { ...run, link: { kind: "live" }, tick: state, bins };
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
		const calls = [settledCall(event), ...run.calls].slice(0, CALLS);
		return { ...run, events, calls };
	}
	const incident = incidentOf(event, events);
	if (incident === undefined) return { ...run, events };
	const incidents = [incident, ...run.incidents].slice(0, INCIDENTS);
	return { ...run, events, incidents };
}

/** The first line of the page, and its tone. */
export function pageVerdict({
	run,
}: PageState): Pick<Verdict, "level" | "text"> {
	if (run === undefined)
		return {
			level: "busy",
			text: "No run can be looked at: start a program that has control on.",
		};
	const { link, tick } = run;
	switch (link.kind) {
		case "connecting":
			return { level: "fine", text: `Looking at run ${run.runId}…` };
		case "live":
			return tick?.verdict ?? { level: "fine", text: "" };
		case "silent":
		case "gone":
			return { level: "trouble", text: link.message };
		case "cut":
			return {
				level: "trouble",
				text: "The process of `snakepit dash` has ended: run the command again.",
			};
	}
}
