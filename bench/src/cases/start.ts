import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { must } from "../../../scripts/run.ts";
import {
	type Case,
	type Figures,
	lower,
	type Row,
	type Setting,
} from "../case.ts";
import { openBareGrpc } from "../contestants/bare-grpc.ts";
import type { Line } from "../contestants/contestant.ts";
import { openFramedSocket } from "../contestants/limits.ts";
import {
	openPoolOf,
	ourAdapter,
	ourName,
	pidsOf,
	startVariants,
} from "../contestants/ours.ts";
import { proportionalBytes, temporaryDirectory } from "../measure.ts";

/** From the first line of a program to its first answer; of a bare Python, all of it. */
const FIRST_ANSWER = "first_answer_ms";
const HOST_CPU = "host_cpu_ms";

const PROGRAM = fileURLToPath(
	new URL("./first-answer-program.ts", import.meta.url),
);
const TOOLS = fileURLToPath(
	new URL("../python/plain_tools.py", import.meta.url),
);

/** What a whole program waits for that has nothing loaded and nothing started. */
const firstAnswerRows: readonly Row[] = [
	{
		name: "limit, python -c pass",
		measure: async ({ python }) => {
			const begunMs = performance.now();
			run(python, ["-c", "pass"]);
			return { [FIRST_ANSWER]: performance.now() - begunMs };
		},
	},
	{
		name: ourName("framed, a fresh program"),
		measure: async ({ python }) => {
			must("pnpm", ["build"]);
			const ledger = temporaryDirectory();
			const once = (): Figures =>
				JSON.parse(run(process.execPath, [PROGRAM, python, TOOLS, ledger]));
			// Files come into the page cache, and what is known of the interpreter onto the disk.
			once();
			return once();
		},
	},
];

function run(program: string, args: readonly string[]): string {
	const { status, stdout, stderr } = spawnSync(program, args, {
		encoding: "utf8",
	});
	if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
	return stdout;
}

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
		"The time until 1, 16 or 100 workers take calls, without and with numpy; the memory of one of them; and the first answer of a fresh program with one worker.",
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
	rows: [
		...firstAnswerRows,
		...IMPORTS.flatMap((modules): Row[] => [
			rowFor("limit, bare Python loop", modules, (setting, workers) =>
				openFramedSocket({ ...setting, workers }, modules),
			),
			rowFor("bare grpcio server", modules, (setting, workers) =>
				openBareGrpc({ ...setting, workers }, "threads", modules),
			),
			...startVariants.map((variant) =>
				rowFor(ourName(variant.name), modules, async (setting, workers) => {
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
				}),
			),
		]),
	],
};

function readyFigure(workers: number): string {
	return `ready_${workers}_ms`;
}

function rowFor(name: string, modules: readonly string[], open: Open): Row {
	return {
		name: [name, ...modules].join(", "),
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
