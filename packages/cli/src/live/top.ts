import type { ControlClient, ServedTick } from "@snakepit/control";
import { jsonLine } from "@snakepit/core/adapter";
import { fitted } from "../command/table.ts";
import { plainText } from "../wording/plain-text.ts";
import { topView } from "./top-view.ts";

const CLEAR = "\u001b[H\u001b[2J";
const COLOURS = { fine: 32, busy: 33, trouble: 31 } as const;

/** What `top` writes to. */
export interface Terminal {
	readonly isTTY?: boolean;
	readonly columns?: number;
	readonly rows?: number;
	write(text: string): unknown;
}

export interface TopOptions {
	readonly json?: true;
	/** Shows the run once, and ends. */
	readonly once?: true;
	readonly color: boolean;
}

/** Shows a run until it ends: redrawn in a terminal, otherwise one line for each new verdict. */
export async function top(
	client: ControlClient,
	options: TopOptions,
	terminal: Terminal,
): Promise<void> {
	let last = "";
	for await (const update of client.events()) {
		if (update.kind !== "state") continue;
		const { state } = update;
		if (options.json) terminal.write(`${jsonLine(state)}\n`);
		else if (options.once) terminal.write(`${topView(state).join("\n")}\n`);
		else if (terminal.isTTY) draw(state, options, terminal);
		else {
			const text = plainText(state.verdict.text);
			if (text !== last) terminal.write(`${timeOf(state)} ${text}\n`);
			last = text;
		}
		if (options.once) return;
	}
	if (!options.json) terminal.write("The run has ended.\n");
}

function draw(
	state: ServedTick,
	{ color }: TopOptions,
	terminal: Terminal,
): void {
	// A new terminal may not have a size yet.
	const columns = terminal.columns || 80;
	const rows = terminal.rows || 24;
	const fits = topView(state)
		.slice(0, Math.max(1, rows - 1))
		.map((line) => fitted(line, columns));
	const [verdict = "", ...rest] = fits;
	const code = COLOURS[state.verdict.level];
	const first = color ? `\u001b[${code}m${verdict}\u001b[0m` : verdict;
	terminal.write(`${CLEAR}${[first, ...rest].join("\n")}\n`);
}

function timeOf({ run }: ServedTick): string {
	return new Date(run.wallMs).toISOString();
}
