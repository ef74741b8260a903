import type { EventSource } from "eventsource";
import type { PageUpdate } from "../../src/dash/run-events.ts";
import type { ListedRun } from "../../src/dash/run-source.ts";
import { routeOf } from "../model/addresses.ts";
import {
	newRunView,
	type PageState,
	type RunView,
	withUpdate,
} from "../model/page-state.ts";
import { eventSource, get, runPath } from "./requests.ts";
import type { Store } from "./store.ts";

/** How often a page without a living run looks for one, in milliseconds. */
const LOOK_MS = 2_000;
/** A stream that is interrupted for a shorter time, in milliseconds, is not worth a word. */
const CUT_MS = 1_000;
const KINDS: readonly PageUpdate["kind"][] = [
	"state",
	"event",
	"lost",
	"silent",
	"gone",
];

/** Keeps the page's state up to date with one run at a time. */
export class RunFeed {
	readonly #store: Store<PageState>;
	#source: EventSource | undefined;
	/** The updates since the page was last drawn. */
	#pending: PageUpdate[] = [];

	constructor(store: Store<PageState>) {
		this.#store = store;
	}

	/** Follows the run that the page's address names, or the newest, and looks for others while none lives. */
	async start(): Promise<void> {
		const runs = await this.list();
		const { run: named } = routeOf(location.hash).query;
		const first = runs.find(({ runId }) => runId === named) ?? runs[0];
		if (first !== undefined) this.follow(first.runId);
		setInterval(() => {
			const { run } = this.#store.state;
			if (run === undefined) void this.#lookForFirst();
			else if (run.link.kind === "gone") void this.list();
		}, LOOK_MS);
	}

	async list(): Promise<readonly ListedRun[]> {
		try {
			const { runs } = await get<{ runs: readonly ListedRun[] }>("api/runs");
			this.#store.update((state) => ({ ...state, runs }));
			return runs;
		} catch {
			return this.#store.state.runs;
		}
	}

	follow(runId: string): void {
		this.#pending = [];
		this.#store.update((state) => ({ ...state, run: newRunView(runId) }));
		this.#open(runId);
	}

	#open(runId: string): void {
		this.#source?.close();
		const source = eventSource(runPath(runId, "events"));
		this.#source = source;
		for (const kind of KINDS)
			source.addEventListener(kind, ({ data }) => {
				// The end of a run is shown immediately: no more updates will come.
				if (kind === "gone") source.close();
				this.#add(JSON.parse(data));
			});
		// The server looks again who this is.
		source.addEventListener("again", () => this.#open(runId));
		source.addEventListener("error", () => void this.#failed(source, runId));
	}

	async #lookForFirst(): Promise<void> {
		const [newest] = await this.list();
		if (newest !== undefined && this.#store.state.run === undefined)
			this.follow(newest.runId);
	}

	/** The page is drawn once for all updates that arrive together. */
	#add(update: PageUpdate): void {
		this.#pending.push(update);
		if (this.#pending.length > 1) return;
		setTimeout(() => {
			const updates = this.#pending;
			this.#pending = [];
			this.#change((run) => updates.reduce(withUpdate, run));
		}, 50);
	}

	/** The server refused the stream, or is gone. If it is gone, the stream is tried again. */
	async #failed(source: EventSource, runId: string): Promise<void> {
		if (this.#source !== source) return;
		if (source.readyState !== source.CLOSED) {
			await new Promise((resolve) => setTimeout(resolve, CUT_MS));
			if (this.#source !== source || source.readyState === source.OPEN) return;
			this.#change((run) => ({ ...run, link: { kind: "cut" } }));
			return;
		}
		if (this.#store.state.run?.link.kind === "gone") return;
		const message = `Run ${runId} cannot be looked at any more. Load the page again; you may have to log in.`;
		this.#change((run) => ({ ...run, link: { kind: "gone", message } }));
	}

	#change(change: (run: RunView) => RunView): void {
		this.#store.update((state) =>
			state.run === undefined ? state : { ...state, run: change(state.run) },
		);
	}
}
