import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { Pool } from "@snakepit/core";

/** Sends the log records of a pool's workers to every client, which says from which level on. */
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
					// A client that is not connected any more has no use for it.
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
