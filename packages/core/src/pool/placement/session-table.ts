import type { Clock, Timer } from "../../contract/clock.ts";
import type { CallSession } from "../../contract/connection.ts";
import {
	InputError,
	OptionsError,
	QueueError,
	WorkerLostError,
} from "../../contract/errors.ts";
import type { SnakepitEvent } from "../../contract/events.ts";
import { outbox } from "../../outbox.ts";
import type { Affinity } from "../calls/call-options.ts";

/** Calls that belong together and find each other's state in the worker. */
export interface Session {
	readonly id: string;
	readonly affinity: Affinity;
	/** The process of its last call; a strict session never changes it. */
	incarnation: string | undefined;
	lastUsedMs: number;
	/** Calls that wait or run. */
	pending: number;
	state: "open" | "closed" | "expired" | "lost";
	/** As its users hold it. */
	calls: CallSession | undefined;
}

/** How many may be open together: more have probably been forgotten. */
const MOST_SESSIONS = 10_000;

/** The sessions of one pool. */
export class SessionTable {
	/** The one that was used last comes last. */
	readonly #sessions = new Map<string, Session>();
	/** How many strict sessions need a process, calls that outlive their session included. */
	readonly #needed = new Map<string, number>();
	readonly #pool: string;
	readonly #clock: Clock;
	readonly #ttlMs: number;
	readonly #emit: (event: SnakepitEvent) => void;
	readonly #onEnd: (session: Session) => void;
	#sweep: Timer | undefined;

	constructor(
		pool: string,
		clock: Clock,
		ttlMs: number,
		emit: (event: SnakepitEvent) => void,
		onEnd: (session: Session) => void,
	) {
		this.#pool = pool;
		this.#clock = clock;
		this.#ttlMs = ttlMs;
		this.#emit = emit;
		this.#onEnd = onEnd;
	}

	get size(): number {
		return this.#sessions.size;
	}

	/**
	 * @throws OptionsError when the id is taken, QueueError `QUEUE_FULL` when there are too many.
	 */
	open(id: string, affinity: Affinity): Session {
		this.#expire();
		if (this.#sessions.has(id)) {
			throw new OptionsError({
				code: "INVALID_OPTION",
				message: `pool.session: a session "${id}" is open already; use it, or close it first.`,
			});
		}
		if (this.#sessions.size >= MOST_SESSIONS) {
			throw new QueueError({
				code: "QUEUE_FULL",
				ran: "no",
				message: `Pool ${this.#pool} has ${this.#sessions.size} open sessions. Close some, or let them expire sooner (sessions.ttlMs).`,
			});
		}
		const session: Session = {
			id,
			affinity,
			incarnation: undefined,
			lastUsedMs: this.#clock.now(),
			pending: 0,
			state: "open",
			calls: undefined,
		};
		this.#sessions.set(id, session);
		this.#emit({
			type: "session.started",
			wallMs: this.#clock.wall(),
			pool: this.#pool,
			sessionId: id,
		});
		this.#schedule();
		return session;
	}

	/** @throws WorkerLostError `SESSION_LOST`, InputError `SESSION_CLOSED` when it is over. */
	use(session: Session): void {
		this.#expire();
		if (session.state === "lost") throw sessionLost(session, 0);
		if (session.state !== "open") {
			throw new InputError({
				code: "SESSION_CLOSED",
				ran: "no",
				message: `Session "${session.id}" is over: it was ${session.state === "closed" ? "closed" : `not used for ${this.#ttlMs} ms (sessions.ttlMs)`}. Open a new one.`,
			});
		}
		session.pending++;
		this.#used(session);
	}

	/** A call of the session begins in this process. */
	bind(session: Session, incarnation: string): void {
		if (session.affinity === "strict" && session.incarnation === undefined)
			this.#needed.set(incarnation, (this.#needed.get(incarnation) ?? 0) + 1);
		session.incarnation = incarnation;
	}

	done(session: Session): void {
		session.pending--;
		// Closed while its calls were outstanding: they had their state to the end.
		if (session.state !== "open" && session.pending === 0) this.#over(session);
		if (session.state === "open") this.#used(session);
	}

	#used(session: Session): void {
		session.lastUsedMs = this.#clock.now();
		this.#sessions.delete(session.id);
		this.#sessions.set(session.id, session);
	}

	end(session: Session, how: "closed" | "expired" | "lost"): void {
		outbox.during(() => this.#end(session, how));
	}

	#end(session: Session, how: "closed" | "expired" | "lost"): void {
		if (session.state !== "open") {
			// A later call fails with what its user did last.
			if (how === "closed") session.state = how;
			return;
		}
		session.state = how;
		this.#sessions.delete(session.id);
		this.#emit({
			type: "session.ended",
			wallMs: this.#clock.wall(),
			pool: this.#pool,
			sessionId: session.id,
			reason: how,
		});
		if (session.pending === 0) this.#over(session);
	}

	/** Neither the session nor a call of it is left. */
	#over(session: Session): void {
		const { affinity, incarnation } = session;
		if (affinity === "strict" && incarnation !== undefined) {
			const left = (this.#needed.get(incarnation) ?? 1) - 1;
			if (left > 0) this.#needed.set(incarnation, left);
			else this.#needed.delete(incarnation);
		}
		this.#onEnd(session);
	}

	/** The process is gone: the strict sessions that lived in it are lost. */
	processGone(incarnation: string): void {
		for (const session of [...this.#sessions.values()]) {
			if (session.affinity === "strict" && session.incarnation === incarnation)
				this.end(session, "lost");
		}
	}

	/** Whether a strict session, or a call of one that was closed, still needs this process. */
	needs(incarnation: string): boolean {
		this.#expire();
		return this.#needed.has(incarnation);
	}

	endAll(): void {
		this.#sweep?.cancel();
		for (const session of [...this.#sessions.values()])
			this.end(session, "closed");
	}

	#expire(): void {
		const oldest = this.#clock.now() - this.#ttlMs;
		for (const session of this.#sessions.values()) {
			if (session.lastUsedMs > oldest) return;
			if (session.pending === 0) this.end(session, "expired");
		}
	}

	#schedule(): void {
		if (this.#sweep !== undefined) return;
		this.#sweep = this.#clock.after(Math.min(this.#ttlMs, 60_000), () => {
			this.#sweep = undefined;
			this.#expire();
			if (this.#sessions.size > 0) this.#schedule();
		});
	}
}

/** @param attempts how often the call was tried before its session was lost. */
export function sessionLost(
	session: Session,
	attempts: number,
): WorkerLostError {
	return new WorkerLostError({
		code: "SESSION_LOST",
		ran: attempts > 0 ? "maybe" : "no",
		message: `Session "${session.id}" is lost: the worker process that held its state (${session.incarnation}) is gone. Open a new session and rebuild its state.`,
	});
}
