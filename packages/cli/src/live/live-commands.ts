import type { ControlClient, PoolAct } from "@snakepit/control";
import type { Command } from "commander";
import { CommandFailed } from "../command/command-failed.ts";
import { positiveNumber, wholeNumber } from "../command/numbers.ts";
import { plainText } from "../wording/plain-text.ts";
import {
	aboutRun,
	attached,
	ifReadable,
	type LiveOptions,
	poolOf,
	poolOfWorker,
} from "./attached.ts";
import { callArguments } from "./call-arguments.ts";
import { type LogsOptions, logs } from "./logs.ts";
import type { Terminal, TopOptions } from "./top.ts";

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

	command("top", "show a running program: its workers, calls and queue")
		.option("--once", "show the table once")
		.option("--no-color", "print no colours, as with the variable NO_COLOR")
		.action(async (options: LiveOptions & TopOptions) => {
			const color = options.color && (process.env["NO_COLOR"] ?? "") === "";
			const { top } = await import("./top.ts");
			await attached(options, "top", (client) =>
				top(client, { ...options, color }, terminal),
			);
		});

	inPool("logs", "print what workers print and log from now on")
		.option("-f, --follow", "always on, because earlier lines are not kept")
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
					: tools.map(({ name, description }) => {
							const [summary = ""] = description.split("\n");
							return plainText(summary === "" ? name : `${name}: ${summary}`);
						});
				for (const line of lines) terminal.write(`${line}\n`);
			});
		},
	);

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
			await client.act(pool, act, { ...parameters, worker });
			const done = { done: act, pool, ...(worker && { worker }) };
			terminal.write(
				`${options.json ? JSON.stringify(done) : `${act}: ${worker ?? pool}, done`}\n`,
			);
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
		["kill", "close a pool at once: its calls fail"],
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

async function argumentsSchema(
	client: ControlClient,
	pool: string,
	tool: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
	const tools = await ifReadable(client.tools(pool));
	const found = tools?.find(({ name }) => name === tool)?.argumentsSchema;
	return found as Readonly<Record<string, unknown>> | undefined;
}
