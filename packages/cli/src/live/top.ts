import type { ServedTick } from "@snakepit/control";
import { jsonLine } from "@snakepit/core/adapter";
import { CommandFailed } from "../command/failures.ts";
import { endedText, runMeant } from "../runs/named-run.ts";
import { plainText } from "../wording/figures.ts";
import { type Status, statusOf } from "../wording/program-status.ts";
import { type Key, type Keyboard, Screen, type Terminal } from "./screen.ts";
import { type ShownProgram, screenPart, topView } from "./top-view.ts";
import { type WatchEnd, WatchedPrograms } from "./watched-programs.ts";

export interface TopOptions {
	readonly run?: string | undefined;
	readonly dataDir?: string | undefined;
	/** Only pools of this name. */
	readonly pool?: string | undefined;
	readonly json?: true;
	/** Shows the programs once, and ends. */
	readonly once?: true;
	readonly color: boolean;
}

/** How often a screen is drawn at least and at most, in milliseconds: silence is seen by nothing that arrives. */
const DRAW_MS = 500;
const DRAWS_APART_MS = 100;
/** Outside of a terminal, what has not changed is said again after this time, unless all is well. */
const REPEAT_MS = 10_000;

/**
 * Shows programs: redrawn in a terminal until a key ends it, otherwise one line for each new verdict until they have
 * ended.
 *
 * @throws CommandFailed if there is none, or one that was followed was killed.
 */
export async function top(
	options: TopOptions,
	terminal: Terminal,
	keyboard?: Keyboard,
): Promise<void> {
	const { dataDir, json, once } = options;
	const run =
		options.run === undefined
			? undefined
			: await runMeant(options.run, dataDir);
	const by = "snakepit top";
	const changes = new Changes();
	const programs = new WatchedPrograms({ run, dataDir, by }, changes.happened);
	try {
		await programs.search();
		if (programs.count === 0) throw await noneFound(programs, { run, dataDir });
		if (once || json || !terminal.isTTY)
			await print(programs, changes, options, terminal);
		else
			await new LiveView(programs, options, terminal, keyboard).show(changes);
		const killed = programs.ends.find(({ error }) => error !== undefined);
		if (killed?.error !== undefined && (run !== undefined || !terminal.isTTY))
			throw new CommandFailed(
				"failed",
				`${killed.error.message} (${killed.error.code})`,
			);
	} finally {
		programs.leave();
	}
}

async function noneFound(
	programs: WatchedPrograms,
	{ run, dataDir }: Pick<TopOptions, "run" | "dataDir">,
): Promise<CommandFailed> {
	const ended = run === undefined ? undefined : await endedText(run, dataDir);
	if (ended !== undefined)
		return new CommandFailed("absent", `${ended} (NO_SUCH_RUN)`);
	const shown = await programs.look();
	const subject = run === undefined ? "No program" : `No run "${run}"`;
	const others =
		shown.length > 0
			? statusOf(shown).text
			: "A program can be shown while its run is open, unless its option control is false, or SNAKEPIT_CONTROL is 0. What there is: snakepit ps.";
	return new CommandFailed(
		"absent",
		`${subject} can be shown. ${others} (NO_SUCH_RUN)`,
	);
}

/** Tells that something has changed, to one who waits for it. */
class Changes {
	#waiting = Promise.withResolvers<void>();

	readonly happened = (): void => {
		this.#waiting.resolve();
	};

	/** Resolves at the next change, or after this time. */
	async next(ms: number): Promise<void> {
		let timer: NodeJS.Timeout | undefined;
		const late = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, ms);
		});
		await Promise.race([this.#waiting.promise, late]);
		clearTimeout(timer);
		this.#waiting = Promise.withResolvers();
	}
}

/** Prints JSON, or the view once, or a line for each new verdict. */
async function print(
	programs: WatchedPrograms,
	changes: Changes,
	{ json, once, pool }: TopOptions,
	terminal: Terminal,
): Promise<void> {
	const printed = new Map<string, ServedTick>();
	let said = { key: "", atMs: 0 };
	while (programs.count > 0) {
		const shown = await programs.look();
		const isComplete = !programs.isConnecting;
		if (json) {
			for (const { tick } of shown) {
				if (tick === undefined || printed.get(tick.run.runId) === tick)
					continue;
				printed.set(tick.run.runId, tick);
				terminal.write(`${jsonLine(tick)}\n`);
			}
			if (once && isComplete) return;
		} else if (isComplete) {
			const { status, body } = topView(shown, pool, Number.POSITIVE_INFINITY);
			if (once) {
				const lines = [status.text, ...body.map(({ text }) => text)];
				terminal.write(`${lines.join("\n")}\n`);
				return;
			}
			const key = keyOf(status, shown);
			const isOld = performance.now() - said.atMs > REPEAT_MS;
			if (key !== said.key || (isOld && status.level !== "fine")) {
				const time = new Date().toISOString();
				terminal.write(`${time} ${plainText(status.text)}\n`);
				said = { key, atMs: performance.now() };
			}
		}
		await changes.next(DRAW_MS);
	}
	if (!json) for (const end of programs.ends) writeEnd(end, terminal);
}

function writeEnd({ program, error }: WatchEnd, terminal: Terminal): void {
	if (error === undefined)
		terminal.write(`${plainText(program)} has closed its run, or has ended.\n`);
}

/** Changes when the condition does, not with each second that a call waits. */
function keyOf({ level }: Status, shown: readonly ShownProgram[]): string {
	const conditions = shown.map(({ facts, status }) => [
		facts.kind === "unreadable" ? facts.path : facts.runId,
		status.words,
		...status.pools.map(({ pool, words }) => [pool, words]),
	]);
	return JSON.stringify([level, conditions]);
}

/** The programs on the screen of a terminal. */
class LiveView {
	readonly #programs: WatchedPrograms;
	readonly #options: TopOptions;
	readonly #terminal: Terminal;
	readonly #screen: Screen;
	readonly #over = Promise.withResolvers<void>();
	#changes: Changes | undefined;
	#pool: string | undefined;
	#pools: readonly string[] = [];
	#top = 0;
	#height = 1;
	#last = "";
	#state: "shown" | "over" = "shown";

	constructor(
		programs: WatchedPrograms,
		options: TopOptions,
		terminal: Terminal,
		keyboard: Keyboard | undefined,
	) {
		this.#programs = programs;
		this.#options = options;
		this.#terminal = terminal;
		this.#pool = options.pool;
		this.#screen = new Screen(terminal, keyboard);
	}

	/** Resolves when a key or a signal has ended it, or the one run that was asked for has ended. */
	async show(changes: Changes): Promise<void> {
		this.#changes = changes;
		const end = (): void => this.#end();
		for (const signal of SIGNALS) process.once(signal, end);
		this.#screen.open(
			(key) => this.#pressed(key),
			() => changes.happened(),
		);
		try {
			while (this.#state === "shown") {
				await this.#programs.search();
				if (this.#state !== "shown") break;
				await this.#draw();
				if (this.#options.run !== undefined && this.#programs.count === 0)
					break;
				await Promise.race([changes.next(DRAW_MS), this.#over.promise]);
				await new Promise((resolve) => setTimeout(resolve, DRAWS_APART_MS));
			}
		} finally {
			for (const signal of SIGNALS) process.off(signal, end);
			this.#screen.close();
			this.#terminal.write(`${this.#last}\n`);
			for (const each of this.#programs.ends) writeEnd(each, this.#terminal);
		}
	}

	async #draw(): Promise<void> {
		const shown = await this.#programs.look();
		if (shown.length === 0 && this.#programs.isConnecting) return;
		this.#pools = [
			...new Set(
				shown.flatMap(({ status }) => status.pools.map(({ pool }) => pool)),
			),
		];
		const { columns, rows } = this.#screen;
		const view = topView(shown, this.#pool, columns);
		const body =
			shown.length > 0
				? view.body
				: [{ text: "" }, { text: "It is shown as soon as there is one." }];
		const part = screenPart(
			{ ...view, body },
			{ columns, rows },
			this.#top,
			this.#screen.hasKeys ? this.#keys() : undefined,
			this.#options.color,
		);
		this.#top = part.top;
		this.#height = part.height;
		this.#last = view.status.text;
		this.#screen.draw(part.lines);
	}

	#keys(): string {
		const pool =
			this.#pools.length > 1 || this.#pool !== undefined
				? `  p pool: ${plainText(this.#pool ?? "all")}`
				: "";
		return `q quit  ↑ ↓ PgUp PgDn scroll${pool}`;
	}

	#pressed(key: Key): void {
		switch (key) {
			case "quit":
				this.#end();
				return;
			case "pool": {
				const all = [undefined, ...this.#pools];
				this.#pool = all[(all.indexOf(this.#pool) + 1) % all.length];
				this.#top = 0;
				break;
			}
			case "home":
				this.#top = 0;
				break;
			case "end":
				this.#top = Number.MAX_SAFE_INTEGER;
				break;
			default:
				this.#top = Math.max(0, this.#top + this.#lines(key));
		}
		this.#changes?.happened();
	}

	#lines(key: Key): number {
		const page = Math.max(1, this.#height - 1);
		const steps: Partial<Record<Key, number>> = {
			up: -1,
			down: 1,
			page_up: -page,
			page_down: page,
		};
		return steps[key] ?? 0;
	}

	#end(): void {
		this.#state = "over";
		this.#over.resolve();
	}
}

/** They end a terminal's programs. */
const SIGNALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];
