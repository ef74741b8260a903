import { useEffect, useMemo, useState } from "preact/hooks";
import { dayAndTime, duration } from "../../src/wording/figures.ts";
import { type LogState, NO_LOG } from "../feed/log-feed.ts";
import type { RunFeed } from "../feed/run-feed.ts";
import { Store } from "../feed/store.ts";
import {
	fragmentOf,
	type PageRoute,
	routeOf,
	VIEWS,
} from "../model/addresses.ts";
import { type PageState, pageVerdict } from "../model/page-state.ts";
import { Banner } from "./banner.tsx";
import { CallsView } from "./calls.tsx";
import { ChartsView } from "./charts.tsx";
import { HistoryView } from "./history.tsx";
import { IncidentsView } from "./incidents.tsx";
import { LogsView } from "./logs.tsx";
import { Name, NameTip } from "./name.tsx";
import { PageContext, type PageTools } from "./page-context.ts";
import { ToolsView } from "./tools.tsx";
import { WorkersView } from "./workers.tsx";

const NOTICE_MS = 8_000;

interface Notice {
	readonly text: string;
	readonly tone: "good" | "bad";
}

export function App({
	store,
	feed,
}: {
	readonly store: Store<PageState>;
	readonly feed: RunFeed;
}) {
	const [state, setState] = useState(store.state);
	const [route, setRoute] = useState(routeOf(location.hash));
	const [notice, setNotice] = useState<Notice>();
	useEffect(() => store.subscribe(setState), [store]);
	useEffect(() => {
		const changed = () => setRoute(routeOf(location.hash));
		addEventListener("hashchange", changed);
		return () => removeEventListener("hashchange", changed);
	}, []);
	useEffect(() => {
		if (notice?.tone !== "good") return;
		const timer = setTimeout(() => setNotice(undefined), NOTICE_MS);
		return () => clearTimeout(timer);
	}, [notice]);
	const verdict = pageVerdict(state);
	useEffect(() => {
		const mark = verdict.level === "trouble" ? "● " : "";
		document.title = `${mark}${state.run?.tick?.run.program ?? "Snakepit"}`;
	}, [verdict.level, state.run?.tick?.run.program]);
	const { run } = state;
	const isLive = run?.link.kind === "live";
	const scopes = run?.tick?.run.scopes.join();
	const log = useMemo(() => new Store(NO_LOG), [run?.runId]);
	const tools = useMemo<PageTools>(
		() => ({
			runId: run?.runId ?? "",
			can: (scope) => isLive && (scopes?.split(",").includes(scope) ?? false),
			notify: (text, tone) => setNotice({ text, tone }),
		}),
		[run?.runId, isLive, scopes],
	);
	if (state.session.kind === "asking") return null;
	if (state.session.kind === "closed")
		return <SignedOut why={state.session.message} />;
	const isStale =
		run?.tick !== undefined &&
		!isLive &&
		!["history", "calls"].includes(route.view);
	return (
		<PageContext.Provider value={tools}>
			<Header state={state} feed={feed} />
			<Banner verdict={verdict} isStale={isStale} />
			<nav aria-label="Views">
				{VIEWS.map((view) => (
					<a
						key={view}
						href={fragmentOf(view)}
						data-view={view}
						aria-current={view === route.view ? "page" : undefined}
					>
						{view}
					</a>
				))}
			</nav>
			<main class={isStale ? "stale" : ""}>
				<View state={state} log={log} route={route} />
			</main>
			{notice && (
				<div class="notice" role="alert" data-tone={notice.tone}>
					<span>{notice.text}</span>
					<button type="button" onClick={() => setNotice(undefined)}>
						Close
					</button>
				</div>
			)}
			<NameTip />
		</PageContext.Provider>
	);
}

function View({
	state,
	log,
	route: { view, query },
}: {
	readonly state: PageState;
	readonly log: Store<LogState>;
	readonly route: PageRoute;
}) {
	const { run } = state;
	if (view === "history")
		return <HistoryView key={run?.link.kind} livingRunId={run?.runId} />;
	if (view === "calls") return <CallsView run={run} query={query} />;
	if (run === undefined)
		return (
			<p class="empty">
				Start a program with a pool. It can be looked at unless its option{" "}
				<code>control</code> is <code>false</code>, or{" "}
				<code>SNAKEPIT_CONTROL</code> is <code>0</code>. The{" "}
				<a href={fragmentOf("history")}>history</a> has the runs that ended, and{" "}
				<a href={fragmentOf("calls")}>calls</a> the calls that failed in them.
			</p>
		);
	switch (view) {
		case "workers":
			return <WorkersView tick={run.tick} query={query} />;
		case "charts":
			return (
				<ChartsView key={run.runId} history={run.history} run={run.tick?.run} />
			);
		case "logs":
			return (
				<LogsView
					key={run.runId}
					run={run.tick?.run}
					store={log}
					query={query}
				/>
			);
		case "incidents":
			return <IncidentsView run={run} />;
		case "tools":
			return <ToolsView run={run.tick?.run} query={query} />;
	}
}

function SignedOut({ why }: { readonly why: string }) {
	return (
		<main class="signed-out">
			<h1>This page is closed</h1>
			<p>{why}</p>
		</main>
	);
}

/** Shows the current run and the others. */
function Header({
	state: { run, runs },
	feed,
}: {
	readonly state: PageState;
	readonly feed: RunFeed;
}) {
	const shown = run?.tick?.run;
	const others = runs.filter(({ runId }) => runId !== run?.runId);
	return (
		<header>
			<h1>
				<img src="icon.svg" alt="" width="24" height="24" />
				<Name text={shown?.program ?? "Snakepit"} />
			</h1>
			{shown && (
				<p class="facts">
					<span>pid {shown.pid}</span>
					<span>
						run <code>{shown.runId}</code>
					</span>
					<span title={dayAndTime(shown.startedAtMs)}>
						up {duration(shown.wallMs - shown.startedAtMs)}
					</span>
					<span>
						{shown.protections.length === 0
							? "no extra protections"
							: shown.protections.join(", ")}
					</span>
				</p>
			)}
			<div class="controls">
				{others.length > 0 && (
					<label>
						<span class="hidden">Run</span>
						<select
							value={run?.runId}
							onFocus={() => void feed.list()}
							onChange={({ currentTarget }) => feed.follow(currentTarget.value)}
						>
							{run && (
								<option value={run.runId}>{shown?.program ?? run.runId}</option>
							)}
							{others.map(({ runId, program, pid }) => (
								<option key={runId} value={runId}>
									{program} (pid {pid}, {runId})
								</option>
							))}
						</select>
					</label>
				)}
				<ThemeSwitch />
			</div>
		</header>
	);
}

function ThemeSwitch() {
	const [theme, setTheme] = useState(storedTheme());
	return (
		<label>
			<span class="hidden">Colours</span>
			<select
				value={theme}
				onChange={({ currentTarget }) => {
					const chosen = THEMES.find((each) => each === currentTarget.value);
					if (chosen === undefined) return;
					applyTheme(chosen);
					setTheme(chosen);
				}}
			>
				{THEMES.map((each) => (
					<option key={each} value={each}>
						{each === "system" ? "System colours" : `${each} colours`}
					</option>
				))}
			</select>
		</label>
	);
}

/** `system`: the theme of the viewer's system. */
type Theme = "system" | "light" | "dark";

const THEMES: readonly Theme[] = ["system", "light", "dark"];
const KEY = "snakepit-theme";

export function storedTheme(): Theme {
	const stored = localStorage.getItem(KEY);
	return THEMES.find((theme) => theme === stored) ?? "system";
}

export function applyTheme(theme: Theme): void {
	localStorage.setItem(KEY, theme);
	if (theme === "system") delete document.documentElement.dataset["theme"];
	else document.documentElement.dataset["theme"] = theme;
}
