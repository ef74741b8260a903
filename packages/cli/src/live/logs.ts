import type { ControlClient, LogFilter, LogLine } from "@snakepit/control";
import { jsonLine } from "@snakepit/core/adapter";
import { counted, dayAndTime, plainText } from "../wording/figures.ts";
import type { Terminal } from "./screen.ts";

export interface LogsOptions {
	readonly json?: true;
	readonly pool?: string;
	readonly worker?: string;
	readonly call?: string;
	/** Milliseconds since the Unix epoch. */
	readonly since?: number;
	readonly tail?: number;
	readonly follow?: true;
}

/** So many lines are printed before those that are followed. */
const TAIL_BEFORE = 10;

/** Prints what workers printed and logged, as far as their program keeps it; with `follow`, goes on until the run ends. */
export async function logs(
	client: ControlClient,
	options: LogsOptions,
	terminal: Terminal,
): Promise<void> {
	let lines = 0;
	for await (const update of client.logs(filterOf(options))) {
		if (update.kind === "line") lines++;
		if (options.json) terminal.write(`${jsonLine(update)}\n`);
		else if (update.kind === "line")
			terminal.write(`${lineText(update.line)}\n`);
		else if (update.kind === "dropped")
			process.stderr.write(
				`snakepit: ${counted(update.lines, "earlier line is", "earlier lines are")} not kept any more.\n`,
			);
		else if (update.kind === "lost")
			process.stderr.write(
				`snakepit: ${counted(update.records, "line was", "lines were")} left out: they came faster than this program read them.\n`,
			);
	}
	if (lines > 0 || options.follow) return;
	const { runId, program } = client.run;
	const { pool, worker, call, since } = options;
	const isFiltered = [pool, worker, call, since].some(
		(each) => each !== undefined,
	);
	const message = `run ${runId} of ${program} has ${isFiltered ? "no such output" : "no output yet: its workers have printed and logged nothing"}.`;
	process.stderr.write(
		options.json
			? jsonLine({ warning: { code: "absent", message } }).concat("\n")
			: `snakepit: ${plainText(message)}\n`,
	);
}

/** Which lines are asked for: as `journalctl` does, all that there are, or the last ones and what comes. */
export function filterOf({
	pool,
	worker,
	call,
	since,
	tail,
	follow,
}: LogsOptions): LogFilter {
	const isWhole = tail === undefined && since === undefined;
	return {
		...{ pool, worker, call, follow: follow === true },
		sinceMs: since ?? (tail === undefined && !follow ? 0 : undefined),
		tail: isWhole && follow ? TAIL_BEFORE : tail,
	};
}

/** Its time, its worker, its call, its level, and the text. */
export function lineText(line: LogLine): string {
	const { wallMs, workerId, callId, level, logger, text, cut } = line;
	const ms = String(Math.floor(wallMs) % 1_000).padStart(3, "0");
	const parts = [
		`${dayAndTime(wallMs)}.${ms}`,
		workerId,
		...(callId === null ? [] : [callId]),
		...(level === null ? [] : [`${level} ${logger}:`]),
	];
	return plainText(`${parts.join(" ")} ${text}${cut ? " …" : ""}`);
}
