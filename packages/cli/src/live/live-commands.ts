import type {
	ControlClient,
	CutCalls,
	PoolAct,
	PoolSnapshot,
} from "@snakepit/control";
import type { Command } from "commander";
import {
	CommandFailed,
	EXIT_STATUS,
	type Failure,
} from "../command/failures.ts";
import { moment, positiveNumber, wholeNumber } from "../command/flags.ts";
import { folded, terminalColumns } from "../command/output.ts";
import { counted, duration, plainText } from "../wording/figures.ts";
import { healthOfAll, healthText } from "../wording/health.ts";
import { signatureOf } from "../wording/signatures.ts";
import { stacksLines } from "../wording/stacks.ts";
import { type LogsOptions, logs } from "./logs.ts";
import type { Terminal } from "./screen.ts";
import type { TopOptions } from "./top.ts";

type Options = LiveOptions & {
	readonly pool?: string;
	readonly [option: string]: unknown;
};

/** Adds the commands about a living run: they inspect it, control it and make calls. */
export function addLiveCommands(
	program: Command,
	terminal: Terminal = process.stdout,
): void {
	const command = (usage: string, description: string): Command =>
		aboutRun(program.command(usage).description(description));
	const inPool = (usage: string, description: string): Command =>
		command(usage, description).option(
			"--pool <name>",
			"the pool; required if there are several",
		);

	command(
		"top",
		"show running programs: their pools, workers, calls and queues",
	)
		.option("--pool <name>", "only pools of this name")
		.option("--once", "show them once")
		.option("--no-color", "print no colours, as with the variable NO_COLOR")
		.action(async (options: TopOptions) => {
			const color = options.color && (process.env["NO_COLOR"] ?? "") === "";
			const { top } = await import("./top.ts");
			await top({ ...options, color }, terminal, process.stdin);
		});

	inPool("logs", "print what workers printed and logged")
		.option("-f, --follow", "print new lines until the run ends, too")
		.option(
			"--since <time>",
			"only lines from then on: 90s, 10m, 2h, or a day or a time",
			moment,
		)
		.option("--tail <number>", "only so many lines, the last ones", wholeNumber)
		.option("--worker <id>", "only lines of this worker")
		.option("--call <id>", "only lines of this call")
		.action(async (options: LiveOptions & LogsOptions) => {
			await attached(options, "logs", async (client) => {
				if (options.worker !== undefined)
					await ifReadable(poolOfWorker(client, options.worker));
				await logs(client, options, terminal);
			});
		});

	inPool("tools", "list the tools of a pool").action(
		async (options: Options) => {
			await attached(options, "tools", async (client) => {
				const pool = await poolOf(client, options.pool);
				const tools = (await client.tools(pool)) ?? [];
				const lines = options.json
					? tools.map((tool) => JSON.stringify(tool))
					: tools.flatMap((tool) => {
							const [summary = ""] = tool.description.split("\n");
							return [
								plainText(signatureOf(tool)),
								...(summary === "" ? [] : [plainText(`    ${summary}`)]),
							];
						});
				for (const line of lines) terminal.write(`${line}\n`);
			});
		},
	);

	command(
		"stacks <worker>",
		"print where the threads of a Python worker are; it goes on undisturbed",
	).action(async (worker: string, options: Options) => {
		await attached(options, "stacks", async (client) => {
			const pool =
				(await ifReadable(poolOfWorker(client, worker))) ??
				worker.replace(/-\d+$/, "");
			const stacks = await client.stacks(pool, worker);
			const lines = options.json
				? [JSON.stringify(stacks)]
				: stacksLines(stacks);
			for (const line of lines) terminal.write(`${line}\n`);
		});
	});

	command(
		"health",
		"tell by the exit status whether pools are ready: for probes of containers",
	)
		.option("--live", "whether they are live: 1 only if a restart would help")
		.option("--pool <name>", "only the pools of this name")
		.action(async (options: Options) => {
			const { findRuns } = await import("@snakepit/control");
			const { dataDir, pool: named } = options;
			const run = (await meantBy(options)) ?? "";
			const runs = await findRuns(dataDir);
			const fitting = runs.filter(({ runId }) => runId.startsWith(run));
			const pools: PoolSnapshot[] = [];
			// Without any, the first one explains what there is.
			for (const { runId } of fitting.length === 0 ? [{ runId: run }] : fitting)
				await attached(
					{ ...options, ...(runId !== "" && { run: runId }) },
					"health",
					async (client) => {
						const state = await client.state();
						pools.push(...state.run.pools);
					},
				);
			const asked = pools.filter(
				({ pool }) => named === undefined || pool === named,
			);
			if (asked.length === 0 && named !== undefined)
				throw new CommandFailed("absent", `There is no pool ${named}.`);
			const health = healthOfAll(asked.map((pool) => pool.health));
			const isWell = options["live"] === true ? health.live : health.ready;
			if (!isWell) process.exitCode = EXIT_STATUS.failed;
			const text = options.json ? JSON.stringify(health) : healthText(health);
			terminal.write(`${text}\n`);
		});

	command(
		"inspect <id>",
		"print all that is known of a run, a worker or a call, living or not",
	).action(async (id: string, options: LiveOptions) => {
		const { inspect, inspectedLines } = await import("./inspect.ts");
		const found = await inspect(id, options);
		const lines = options.json
			? [JSON.stringify(found, undefined, 2)]
			: inspectedLines(found, Date.now()).flatMap((line) =>
					folded(line, terminalColumns()),
				);
		for (const line of lines) terminal.write(`${line}\n`);
	});

	inPool(
		"call <tool> [arguments...]",
		"make a call, with arguments as key=value",
	)
		.option("--timeout <ms>", "time limit of the call", positiveNumber)
		.action(async (tool: string, pairs: string[], options: Options) => {
			callArguments(pairs);
			await attached(options, "call", async (client) => {
				const pool = await poolOf(client, options.pool);
				const schema = await argumentsSchema(client, pool, tool);
				const args = callArguments(pairs, schema);
				const { timeout } = options as { timeout?: number };
				const call = { pool, command: tool, args, timeoutMs: timeout };
				const value = await client.call(call);
				terminal.write(
					`${JSON.stringify(value, null, options.json ? 0 : 2)}\n`,
				);
			});
		});

	const act = (
		act: PoolAct,
		options: Options,
		worker: string | undefined,
		parameters: Readonly<Record<string, unknown>>,
	): Promise<void> =>
		attached(options, act, async (client) => {
			const pool =
				worker === undefined || worker === "all"
					? await poolOf(client, options.pool)
					: await poolOfWorker(client, worker);
			const { cut } = await client.act(pool, act, { ...parameters, worker });
			const done = { done: act, pool, ...(worker && { worker }), cut };
			terminal.write(
				`${options.json ? JSON.stringify(done) : `${act}: ${worker ?? pool}, done`}\n`,
			);
			if (cut === undefined || cut.count === 0) return;
			// Who drains waits for calls to end; who kills does not.
			if (act === "drain") process.exitCode = EXIT_STATUS.failed;
			if (!options.json) terminal.write(`${cutLines(cut).join("\n")}\n`);
		});

	inPool(
		"recycle <worker>",
		'replace a worker, or "all": the new one is ready first',
	)
		.option("--forced", "kill the old worker as soon as the new one is ready")
		.action((worker: string, options: Options) => {
			const manner = options["forced"] === true ? "forced" : "gentle";
			return act("recycle", options, worker, { manner });
		});
	command("restart <worker>", "kill a worker and start a new one").action(
		(worker: string, options: Options) => act("restart", options, worker, {}),
	);
	for (const [name, description] of [
		["pause", "make new calls wait"],
		["resume", "send calls to workers again"],
		["kill", "close a pool immediately: its calls fail"],
	] as const)
		inPool(name, description).action((options: Options) =>
			act(name, options, undefined, {}),
		);
	inPool("resize", "change the number of workers")
		.option("--min <number>", "at least", wholeNumber)
		.option("--max <number>", "at most", wholeNumber)
		.action((options: Options) => {
			const { min, max } = options;
			if (min === undefined && max === undefined)
				throw new CommandFailed("usage", "Set --min, --max or both.");
			return act("resize", options, undefined, { min, max });
		});
	inPool("drain", "close a pool after its calls have ended")
		.option("--within <ms>", "how long to wait for calls", wholeNumber)
		.action((options: Options) =>
			act("drain", options, undefined, { drainMs: options["within"] }),
		);
}

const CUT_SHOWN = 20;

/** Says which calls the end of their pool has ended. */
export function cutLines({ count, calls }: CutCalls): readonly string[] {
	const shown = calls.slice(0, CUT_SHOWN);
	const more = count - shown.length;
	const running = calls.filter(({ was }) => was === "running").length;
	const whole =
		calls.length < count
			? ""
			: ` (${running} running, ${count - running} waiting)`;
	return [
		`${counted(count, "call")} cut${whole}:`,
		...shown.map(({ command, callId, was, forMs, workerId }) =>
			plainText(
				`  ${command}, ${was} ${workerId === null ? "" : `on ${workerId} `}for ${duration(forMs)} (call ${callId})`,
			),
		),
		...(more > 0 ? [`  and ${counted(more, "more call")}`] : []),
	];
}

async function argumentsSchema(
	client: ControlClient,
	pool: string,
	tool: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
	const tools = await ifReadable(client.tools(pool));
	const schema = tools?.find(({ name }) => name === tool)?.argumentsSchema;
	return schema as Readonly<Record<string, unknown>> | undefined;
}

/** Which run a command is about, and how it prints. */
interface LiveOptions {
	readonly run?: string;
	readonly dataDir?: string;
	readonly json?: true;
}

/** Adds the options that every command about a living run has. */
function aboutRun(command: Command): Command {
	return command
		.option(
			"--run <id>",
			"the run: its id, the beginning of it, its program or a pool; required if there are several",
		)
		.option("--data-dir <path>", "only runs of this data directory")
		.option("--json", "print JSON; one line per item if the command streams");
}

/** Runs a task with a client of the run; an error ends the command with the matching exit status. */
async function attached(
	options: LiveOptions,
	name: string,
	task: (client: ControlClient) => Promise<void>,
): Promise<void> {
	// Commands that need no living run do not load it.
	const { attach, ControlError } = await import("@snakepit/control");
	const { dataDir } = options;
	const run = await meantBy(options);
	try {
		using client = await attach({
			...{ run, dataDir },
			by: `snakepit ${name}`,
		});
		await task(client);
	} catch (error) {
		if (!(error instanceof ControlError)) throw error;
		const { code } = error;
		const { endedText } = await import("../runs/named-run.ts");
		const ended =
			code === "NO_SUCH_RUN" && run !== undefined
				? await endedText(run, dataDir)
				: undefined;
		const message = ended ?? error.message;
		throw new CommandFailed(FAILURES[code] ?? "failed", coded(message, code));
	}
}

/** The id of the run that is meant, or the beginning of it. */
async function meantBy({
	run,
	dataDir,
}: LiveOptions): Promise<string | undefined> {
	if (run === undefined) return undefined;
	const { runMeant } = await import("../runs/named-run.ts");
	return await runMeant(run, dataDir);
}

/** The code is at the end of the first line: further lines are output of a worker. */
export function coded(message: string, code: string): string {
	const [first, ...more] = message.split("\n");
	return [`${first} (${code})`, ...more].join("\n");
}

/** Extra information for a message: `undefined` if the program does not allow reading. */
async function ifReadable<T>(reading: Promise<T>): Promise<T | undefined> {
	try {
		return await reading;
	} catch (error) {
		const { code } = error as { readonly code?: string };
		if (code === "SCOPE_NOT_ALLOWED") return undefined;
		throw error;
	}
}

const FAILURES: Readonly<Record<string, Failure>> = {
	SEVERAL_RUNS: "usage",
	INVALID_OPTION: "usage",
	INVALID_ARGUMENTS: "usage",
	NO_SUCH_RUN: "absent",
	NO_SUCH_POOL: "absent",
	WORKER_NOT_FOUND: "absent",
	TOOL_NOT_FOUND: "absent",
	HOST_SILENT: "silent",
	SCOPE_NOT_ALLOWED: "refused",
	WRONG_TOKEN: "refused",
};

/**
 * The pool that a command is about.
 *
 * @param named by the user; may be left out if there is only one pool.
 */
async function poolOf(
	client: ControlClient,
	named: string | undefined,
): Promise<string> {
	if (named !== undefined) return named;
	const { run } = await client.state();
	const names = run.pools.map(({ pool }) => pool);
	const [only] = names;
	if (only === undefined)
		throw new CommandFailed("absent", `Run ${run.runId} has no pool.`);
	if (names.length > 1)
		throw new CommandFailed(
			"usage",
			`Run ${run.runId} has ${names.length} pools: ${names.join(", ")}. Name one with --pool.`,
		);
	return only;
}

/** The pool that has a worker, or one incarnation of it, or would have it: in a crash loop, there may be none now. */
async function poolOfWorker(
	client: ControlClient,
	worker: string,
): Promise<string> {
	const { run } = await client.state();
	const all = run.pools.flatMap(({ pool, workers }) =>
		workers.map(({ workerId, incarnation }) => {
			return { pool, workerId, incarnation };
		}),
	);
	const match = all.find(
		({ workerId, incarnation }) =>
			workerId === worker || incarnation === worker,
	);
	if (match !== undefined) return match.pool;
	const [, of, slot] = /^(.+)-(\d+)$/.exec(worker) ?? [];
	const free = run.pools.find(
		({ pool, size }) => pool === of && Number(slot) < size.max,
	);
	if (free !== undefined) return free.pool;
	const known =
		all.length === 0
			? "it has none"
			: `it has ${all.map(({ workerId }) => workerId).join(", ")}`;
	throw new CommandFailed(
		"absent",
		`Run ${run.runId} has no worker ${worker}; ${known}.`,
	);
}

/**
 * Reads `key=value` pairs: a value is JSON if it parses and the tool may take it, otherwise text.
 *
 * @param schema of the arguments, if the tool has one.
 * @throws CommandFailed if an argument is not a pair.
 */
export function callArguments(
	pairs: readonly string[],
	schema?: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
	const properties = (schema?.["properties"] ?? {}) as Schemas;
	return Object.fromEntries(
		pairs.map((pair) => {
			const [, key, value = ""] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
			if (key === undefined)
				throw new CommandFailed(
					"usage",
					`An argument must be key=value, for example numbers=[1,2], got: ${pair}`,
				);
			const parsed = parsedValue(value);
			const types = typesOf(properties[key]);
			const isText = types.includes("string") && !accepts(types, parsed);
			return [key, isText ? value : parsed];
		}),
	);
}

type Schema = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, Schema | undefined>>;

/** The JSON types that a schema names: none if it allows any type. */
function typesOf(schema: Schema | undefined): readonly unknown[] {
	const alternatives = schema?.["anyOf"];
	if (Array.isArray(alternatives)) {
		const types = alternatives.map(typesOf);
		return types.some(({ length }) => length === 0) ? [] : types.flat();
	}
	return [schema?.["type"] ?? []].flat();
}

function accepts(types: readonly unknown[], value: unknown): boolean {
	if (value === null) return types.includes("null");
	if (Array.isArray(value)) return types.includes("array");
	if (Number.isInteger(value) && types.includes("integer")) return true;
	return types.includes(typeof value);
}

function parsedValue(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}
