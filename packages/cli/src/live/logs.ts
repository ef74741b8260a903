import type { ControlClient, LogLine } from "@snakepit/control";
import { jsonLine } from "@snakepit/core/adapter";
import { counted, plainText } from "../wording/figures.ts";
import type { Terminal } from "./top.ts";

export interface LogsOptions {
	readonly json?: true;
	readonly pool?: string;
	readonly worker?: string;
	readonly call?: string;
}

/** Prints what workers print and log from now on; ends with the run. */
export async function logs(
	client: ControlClient,
	{ json, pool, worker, call }: LogsOptions,
	terminal: Terminal,
): Promise<void> {
	for await (const update of client.logs({ pool, worker, call })) {
		if (json) terminal.write(`${jsonLine(update)}\n`);
		else if (update.kind === "line")
			terminal.write(`${lineText(update.line)}\n`);
		else if (update.kind === "lost")
			process.stderr.write(
				`snakepit: ${counted(update.records, "line was", "lines were")} left out: they came faster than this program read them.\n`,
			);
	}
}

function lineText(line: LogLine): string {
	const level = line.level === null ? "" : ` ${line.level} ${line.logger}:`;
	const cut = line.cut ? " …" : "";
	return plainText(`${line.workerId}${level} ${line.text}${cut}`);
}
