import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { Pool } from "@snakepit/core";

/** Sends the log records of a pool's workers to every client, from the level on that the client has set. */
export class LogSenders {
	private readonly servers = new Set<Server>();
	private readonly unsubscribe: () => void;

	constructor(pool: Pool) {
		this.unsubscribe = pool.on("worker.logged", ({ record }) => {
			const { level, logger, message } = record;
			for (const server of this.servers)
				server
					.sendLoggingMessage(
						{ level, logger, data: message },
						server.transport?.sessionId,
					)
					// The client has disconnected and does not need it.
					.catch(() => {});
		});
	}

	/** Adds the server of a client; returns what removes it. */
	add(server: Server): () => void {
		this.servers.add(server);
		return () => this.servers.delete(server);
	}

	end(): void {
		this.unsubscribe();
		this.servers.clear();
	}
}
