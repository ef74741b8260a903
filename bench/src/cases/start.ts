import {
	type Aim,
	type Case,
	type Figures,
	least,
	lower,
	type Row,
	type Setting,
} from "../case.ts";
import { openBareGrpc } from "../contestants/bare-grpc.ts";
import type { Line } from "../contestants/contestant.ts";
import {
	BARE_PYTHON,
	FIRST_ANSWER,
	FRESH_PROGRAM,
	firstAnswerRows,
	HOST_CPU,
} from "../contestants/first-answer.ts";
import { openFramedSocket } from "../contestants/framed-socket.ts";
import { startVariants } from "../contestants/our-variants.ts";
import {
	openPoolOf,
	ourAdapter,
	ourName,
	pidsOf,
} from "../contestants/ours.ts";
import { proportionalBytes } from "../measure/processes.ts";

const WORKERS = [1, 16, 100];
const IMPORTS = [[], ["numpy"]] as const;

type Open = (
	setting: Setting,
	workers: number,
) => Promise<Pick<Line, "pids"> & AsyncDisposable>;

export const start: Case = {
	name: "start",
	title: "Starting workers",
	about:
		"The time from the call that starts 1, 16 or 100 workers until all of them take calls; once with only their own imports, once with numpy imported before they are ready. Unless a row says otherwise, Snakepit forks four or more workers from a preloaded parent, starts 8 at a time, and records and checks each in the ledger; the others start all workers at once. Memory: the proportional set size of one worker, with the largest number of workers. First answer: the time from the first line of a program that imports the built packages, creates a pool of one worker with one ordinary function and calls it, and the processor time of that program itself; for a bare Python, how long it runs.",
	figures: {
		...Object.fromEntries(
			WORKERS.map((workers) => [
				readyFigure(workers),
				lower(`${workers} ready`, "ms"),
			]),
		),
		pss_mb: lower("memory a worker", "MB"),
		[FIRST_ANSWER]: lower("first answer", "ms"),
		[HOST_CPU]: lower("processor time of the program", "ms"),
	},
	plot: readyFigure(16),
	rows: [
		...firstAnswerRows,
		...IMPORTS.flatMap((modules): Row[] => [
			rowFor("limit, bare Python loop", "limit", modules, (setting, workers) =>
				openFramedSocket({ ...setting, workers }, modules),
			),
			rowFor("bare grpcio server", "bare", modules, (setting, workers) =>
				openBareGrpc({ ...setting, workers }, "threads", modules),
			),
			...startVariants.map((variant) => ({
				...rowFor(
					ourName(variant.name),
					"ours",
					modules,
					async (setting, workers) => {
						const tools = modules.length === 0 ? "tools" : "numpy_tools";
						const pool = await openPoolOf({
							adapter: ourAdapter(variant, setting, tools),
							size: workers,
							heartbeat: "off",
						});
						return {
							pids: pidsOf(pool),
							[Symbol.asyncDispose]: () => pool.close({ drainMs: 0 }),
						};
					},
				),
			})),
		]),
	],
	aims: [
		{
			text: "the first answer of a fresh program, more than python -c pass",
			unit: "ms",
			atMost: 150,
			value: (of) =>
				of(FRESH_PROGRAM, FIRST_ANSWER) - of(BARE_PYTHON, FIRST_ANSWER),
		},
		...IMPORTS.flatMap((modules): Aim[] => [
			{
				text: named("the best of ours: 100 workers ready", modules),
				unit: "ms",
				atMost: 1_500,
				value: (of) =>
					least(ourRows(modules).map((row) => of(row, readyFigure(100)))),
			},
			{
				text: named("framed, by default: 100 workers ready", modules),
				unit: "ms",
				atMost: 3_000,
				value: (of) => of(named(ourName("framed"), modules), readyFigure(100)),
			},
			...against("limit, bare Python loop", 1, 1.5, modules),
			...against("bare grpcio server", 16, 0.5, modules),
			{
				text: named(
					"the best of ours: memory of a worker against a cold start of ours",
					modules,
				),
				unit: "x",
				atMost: 0.5,
				value: (of) => {
					const ours = ourRows(modules).map((row) => of(row, "pss_mb"));
					return (
						least(ours) /
						of(named(ourName("framed, not preloaded"), modules), "pss_mb")
					);
				},
			},
		]),
	],
};

/** Ours by default in multiples of another row. */
function against(
	other: string,
	workers: number,
	atMost: number,
	modules: readonly string[],
): NonNullable<Case["aims"]> {
	const figure = readyFigure(workers);
	return [
		{
			text: named(
				`framed, by default: ${workers} ready against ${other}`,
				modules,
			),
			unit: "x",
			atMost,
			value: (of) =>
				of(named(ourName("framed"), modules), figure) /
				of(named(other, modules), figure),
		},
	];
}

function ourRows(modules: readonly string[]): readonly string[] {
	return startVariants.map(({ name }) => named(ourName(name), modules));
}

function readyFigure(workers: number): string {
	return `ready_${workers}_ms`;
}

function named(name: string, modules: readonly string[]): string {
	return [name, ...modules].join(", ");
}

function rowFor(
	name: string,
	kind: Row["kind"],
	modules: readonly string[],
	open: Open,
): Row {
	return {
		name: named(name, modules),
		kind,
		measure: async (setting) => {
			const figures: Record<string, number> = {};
			// Files come into the page cache, code into this process.
			await (await open(setting, 1))[Symbol.asyncDispose]();
			for (const workers of WORKERS) {
				if (workers > setting.pace.mostWorkers) continue;
				const begin = performance.now();
				await using line = await open(setting, workers);
				figures[readyFigure(workers)] = performance.now() - begin;
				Object.assign(figures, memory(line.pids));
			}
			return figures;
		},
	};
}

function memory(pids: readonly number[]): Figures {
	if (process.platform !== "linux") return {};
	const bytes = pids.reduce((sum, pid) => sum + proportionalBytes(pid), 0);
	return { pss_mb: bytes / pids.length / 1_000_000 };
}
