import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { look, type SeenProcess } from "./process-table.ts";

/** One connection that a worker or a descendant holds, and its children with it. */
export interface Sighting {
	readonly role: string;
	readonly pid: number;
	/** `undefined` when it was gone before it could be looked at, or has another pid here. */
	readonly process: SeenProcess | undefined;
	/** When its last holder was gone, on the monotonic clock; `undefined` while one lives. */
	goneAtMs: number | undefined;
}

/**
 * Sees processes end, from outside of what is tested: they hold a connection
 * to it, and the kernel closes that at the end of the last one that holds it.
 */
export class Witness implements AsyncDisposable {
	readonly path: string;
	readonly sightings: Sighting[] = [];
	readonly #server: Server;
	readonly #sockets = new Set<Socket>();
	readonly #checks = new Set<() => void>();

	private constructor(path: string) {
		this.path = path;
		this.#server = createServer((socket) => this.#take(socket));
	}

	static async open(path: string): Promise<Witness> {
		const witness = new Witness(path);
		witness.#server.listen({ path, backlog: 1024 });
		await once(witness.#server, "listening");
		return witness;
	}

	/** How many of a role were seen, gone or not. */
	seen(role: string): number {
		return this.sightings.filter((each) => each.role === role).length;
	}

	/** Those whose holders live; of one role, or all. */
	living(role?: string): readonly Sighting[] {
		return this.sightings.filter(
			(each) =>
				each.goneAtMs === undefined &&
				(role === undefined || each.role === role),
		);
	}

	/** Resolves when `holds` does, looked at after every change; `false` at the deadline. */
	async until(holds: () => boolean, deadlineMs: number): Promise<boolean> {
		if (holds()) return true;
		const { promise, resolve } = Promise.withResolvers<boolean>();
		const check = (): void => {
			if (holds()) resolve(true);
		};
		const deadline = setTimeout(
			() => resolve(holds()),
			Math.max(0, deadlineMs),
		);
		this.#checks.add(check);
		try {
			return await promise;
		} finally {
			clearTimeout(deadline);
			this.#checks.delete(check);
		}
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const socket of this.#sockets) socket.destroy();
		this.#server.close();
	}

	#take(socket: Socket): void {
		this.#sockets.add(socket);
		let text = "";
		let sighting: Sighting | undefined;
		const gone = (): void => {
			this.#sockets.delete(socket);
			if (sighting === undefined || sighting.goneAtMs !== undefined) return;
			sighting.goneAtMs = performance.now();
			for (const check of this.#checks) check();
		};
		for (const event of ["error", "end", "close"]) socket.on(event, gone);
		socket.setEncoding("utf8").on("data", (part: string) => {
			text += part;
			const [role, pid] = text.trimEnd().split(" ");
			if (!text.endsWith("\n") || sighting || !role) return;
			const process = look(Number(pid));
			sighting = { role, pid: Number(pid), process, goneAtMs: undefined };
			this.sightings.push(sighting);
			socket.write(".");
			for (const check of this.#checks) check();
		});
	}
}
