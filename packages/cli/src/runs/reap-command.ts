import type { ReaperFindings } from "@snakepit/core/inspect";
import type { Command } from "commander";
import { CommandFailed } from "../command/command-failed.ts";
import { DATA_DIR, JSON_FLAG } from "../command/common-flags.ts";
import { coloured, write } from "../command/output.ts";
import { table } from "../command/table.ts";
import { finishedReap, plannedReap, type ReapView } from "./reap-view.ts";

interface ReapFlags {
	readonly dryRun?: boolean;
	readonly run?: string;
	readonly dataDir?: string;
	readonly json?: boolean;
}

/** Adds `snakepit reap`. */
export function addReap(program: Command): void {
	program
		.command("reap")
		.description("kill processes that dead programs left")
		.option("--dry-run", "only list them")
		.option(
			"--run <id>",
			"only processes of this run: its id, or the beginning of it",
		)
		.option(...DATA_DIR)
		.option(...JSON_FLAG)
		.action(reap);
}

async function reap(flags: ReapFlags): Promise<void> {
	const view = await viewOf(flags);
	if (!view.verdict.isGood) process.exitCode = 1;
	if (flags.json) return write(JSON.stringify(view, undefined, 2));
	write(coloured(view.verdict.text, view.verdict.isGood));
	const { processes, sparedRuns, setAside } = view;
	const rows = [
		...processes.map(({ runId, program, pid, outcome, reason }) => [
			...[runId, program ?? "", String(pid), reason ?? OUTCOMES[outcome]],
		]),
		...sparedRuns.map(({ runId, reason }) => [runId, "", "", reason]),
	].map((row) => row.map((cell) => cell.replaceAll("_", " ")));
	if (rows.length > 0)
		write(table([["RUN", "PROGRAM", "PID", "WHAT"], ...rows]).join("\n"));
	for (const path of setAside)
		write(`A ledger that could not be used is now ${path}`);
}

const OUTCOMES: Readonly<
	Record<ReapView["processes"][number]["outcome"], string>
> = {
	left: "would be ended",
	ended_on_term: "ended after SIGTERM",
	killed: "killed",
	spared: "left alone",
};

async function viewOf({ dryRun, run, dataDir }: ReapFlags): Promise<ReapView> {
	const { findDeadRuns } = await import("@snakepit/core/inspect");
	if (dryRun || run !== undefined) {
		const found = await findDeadRuns(dataDir);
		const only = run === undefined ? found : onlyOf(found, run);
		if (dryRun) return plannedReap(only);
		run = (only.dead[0] ?? only.unclear[0])?.runId;
	}
	const { reapDeadRuns } = await import("@snakepit/core/registry");
	return finishedReap(await reapDeadRuns({ dataDir, run }));
}

/** What was found of one run. */
function onlyOf(found: ReaperFindings, wanted: string): ReaperFindings {
	const all = [...found.living, ...found.dead, ...found.unclear];
	const ids = new Set(
		all.flatMap(({ runId }) => (runId.startsWith(wanted) ? runId : [])),
	);
	const [id] = ids;
	if (id === undefined)
		throw new CommandFailed(
			"absent",
			`No run "${wanted}" is alive or was left behind. List ended runs: snakepit history.`,
		);
	if (ids.size > 1)
		throw new CommandFailed(
			"usage",
			`${ids.size} runs begin with "${wanted}": ${[...ids].join(", ")}.`,
		);
	const living = found.living.find(({ runId }) => runId === id);
	if (living !== undefined)
		throw new CommandFailed(
			"refused",
			`Run ${id} is still alive: its program has pid ${living.pid}. None of its processes was killed.`,
		);
	const isIt = ({ runId }: { readonly runId: string }): boolean => runId === id;
	return {
		living: [],
		dead: found.dead.filter(isIt),
		unclear: found.unclear.filter(isIt),
	};
}
