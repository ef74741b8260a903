import { AsyncLocalStorage } from "node:async_hooks";
import { type ExecuteOptions, SnakepitError } from "@snakepit/core";
import {
	type KnownSession,
	type MadeCall,
	wrongInSession,
	wrongWith,
} from "./made-call.ts";
import type { Observer } from "./observer.ts";
import type { Chosen } from "./setting.ts";

/** Longer than any call of these programs. */
const DEADLINE_MS = 60_000;

/** The calls of one pool, and whether each ended in an allowed way. */
export class Calls {
	readonly all: MadeCall[] = [];
	readonly endings: Record<string, number> = {};
	readonly #name: string;
	readonly #chosen: Chosen;
	readonly #observer: Observer;
	readonly #context = new AsyncLocalStorage<MadeCall>();
	pool: "open" | "closing" = "open";

	constructor(name: string, chosen: Chosen, observer: Observer) {
		this.#name = name;
		this.#chosen = chosen;
		this.#observer = observer;
	}

	/** The call in whose context this runs. */
	get current(): MadeCall | undefined {
		return this.#context.getStore();
	}

	wrong(what: string): void {
		this.#observer.wrong.push(what);
	}

	make(
		tool: string,
		options: ExecuteOptions,
		mayFail: readonly string[] = [],
		session?: KnownSession,
	): MadeCall {
		const made: MadeCall = {
			tag: `${this.#name}-${this.all.length}`,
			...{ tool, options, session, mayFail },
			madeAt: performance.now(),
			callId: undefined,
			outcome: undefined,
			ran: undefined,
			taken: 0,
		};
		this.all.push(made);
		session?.made.add(made.tag);
		return made;
	}

	/** Makes a call, and judges how it settles. */
	async watch<T>(
		made: MadeCall,
		call: () => Promise<T>,
		isRight: (value: T) => boolean,
	): Promise<T> {
		const about = `${made.tag} ${made.tool}`;
		const late = setTimeout(
			() => this.wrong(`${about} is not settled after ${DEADLINE_MS} ms`),
			DEADLINE_MS,
		);
		const before = made.session?.answered.length ?? 0;
		try {
			const value = await this.#context.run(made, call);
			made.outcome ??= "ok";
			if (!isRight(value))
				this.wrong(`${about} answered ${JSON.stringify(value)}`);
			this.#remembered(made, value, before);
			return value;
		} catch (error) {
			this.#failed(made, error);
			throw error;
		} finally {
			clearTimeout(late);
			const { outcome = "none" } = made;
			this.endings[outcome] = (this.endings[outcome] ?? 0) + 1;
		}
	}

	/** Calls what makes the call, and takes its id from the event of that turn. */
	noted<T>(made: MadeCall, call: () => T): T {
		this.#observer.accepted = undefined;
		const begun = call();
		made.callId ??= this.#observer.accepted;
		return begun;
	}

	#remembered(made: MadeCall, value: unknown, before: number): void {
		const { session, tag, tool } = made;
		if (session === undefined) return;
		if (Array.isArray(value))
			for (const wrong of wrongInSession(session, tag, value, before))
				this.wrong(`${tag} ${tool} found ${wrong}`);
		if (Array.isArray(value) || made.taken > 0) session.answered.push(tag);
	}

	#failed(made: MadeCall, error: unknown): void {
		const about = `${made.tag} ${made.tool} (${made.callId})`;
		if (!(error instanceof SnakepitError)) {
			made.outcome = "foreign";
			this.wrong(
				`${about}: ${error instanceof Error ? error.stack : String(error)}`,
			);
			return;
		}
		made.outcome = error.code;
		made.ran = error.ran;
		const why = wrongWith(made, error, this.#chosen, this.pool);
		if (why !== undefined)
			this.wrong(`${about}: ${error.code}, ${why}: ${error.message}`);
	}
}
