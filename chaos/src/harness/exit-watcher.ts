import { EventEmitter, once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { look, type SeenProcess } from "./processes.ts";

/** One connection that a worker or a descendant holds, and its children with it. */
export interface Watched {
	readonly role: string;
	readonly pid: number;
	/** `undefined` when it was gone before it could be read, or has another pid here. */
	readonly process: SeenProcess | undefined;
	/** When its last holder was gone, on the monotonic clock; `undefined` while one lives. */
	goneAtMs: number | undefined;
}

/** Resolves when the condition holds, which is checked after every `change`; `false` at the deadline. */
export async function until(
	changes: EventEmitter,
	condition: () => boolean,
	withinMs: number,
): Promise<boolean> {
	const signal = AbortSignal.timeout(Math.ceil(Math.max(0, withinMs)));
	while (!condition()) {
		if (signal.aborted) return false;
		await once(changes, "change", { signal }).catch(() => {});
	}
	return true;
}

/**
 * Observes the ends of processes from outside: they hold a connection to it, which the kernel closes when the last
 * process that holds it ends.
 */
export class ExitWatcher implements AsyncDisposable {
	readonly path: string;
	readonly watched: Watched[] = [];
	readonly #server: Server;
	readonly #sockets = new Set<Socket>();
	readonly #changes = new EventEmitter().setMaxListeners(0);

	private constructor(path: string) {
		this.path = path;
		this.#server = createServer((socket) => this.#accept(socket));
	}

	static async open(path: string): Promise<ExitWatcher> {
		const watcher = new ExitWatcher(path);
		watcher.#server.listen({ path, backlog: 1024 });
		await once(watcher.#server, "listening");
		return watcher;
	}

	/** How many of a role have connected, gone or not. */
	connected(role: string): number {
		return this.watched.filter((each) => each.role === role).length;
	}

	/** Those whose holders live; of one role, or all. */
	living(role?: string): readonly Watched[] {
		return this.watched.filter(
			(each) =>
				each.goneAtMs === undefined &&
				(role === undefined || each.role === role),
		);
	}

	/** See {@link until}. */
	until(condition: () => boolean, withinMs: number): Promise<boolean> {
		return until(this.#changes, condition, withinMs);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const socket of this.#sockets) socket.destroy();
		this.#server.close();
	}

	#accept(socket: Socket): void {
		this.#sockets.add(socket);
		let text = "";
		let watched: Watched | undefined;
		const gone = (): void => {
			this.#sockets.delete(socket);
			if (watched === undefined || watched.goneAtMs !== undefined) return;
			watched.goneAtMs = performance.now();
			this.#changes.emit("change");
		};
		for (const event of ["error", "end", "close"]) socket.on(event, gone);
		socket.setEncoding("utf8").on("data", (part: string) => {
			text += part;
			const [role, pid] = text.trimEnd().split(" ");
			if (!text.endsWith("\n") || watched || !role) return;
			const process = look(Number(pid));
			watched = { role, pid: Number(pid), process, goneAtMs: undefined };
			this.watched.push(watched);
			socket.write(".");
			this.#changes.emit("change");
		});
	}
}
