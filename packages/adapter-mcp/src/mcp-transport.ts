import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { createPool, type Pool, type RunOptions } from "@snakepit/core";
import {
	PROGRAM_CHECKS,
	type ProgramOptions,
	stdioSpec,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import { checkOptions } from "@snakepit/core/options";
import { WorkerTransport } from "./worker-transport.ts";

/**
 * One server for one client, as a replacement for the official `StdioClientTransport`: the server is recorded and
 * watched like a worker of a pool, and no process of it outlives this program.
 *
 * @param run of the run that it opens, or joins.
 * @throws OptionsError; `start` also StartError.
 */
export function mcpTransport(
	server: ProgramOptions,
	run: RunOptions = {},
): Transport {
	checkOptions("mcpTransport", server, PROGRAM_CHECKS);
	return new PooledTransport(server, run);
}

class PooledTransport implements Transport {
	onclose?: () => void;
	onerror?: (error: Error) => void;
	onmessage?: (message: JSONRPCMessage) => void;
	readonly #server: ProgramOptions;
	readonly #run: RunOptions;
	readonly #closed = Promise.withResolvers<void>();
	#pool: Pool<object, WorkerProcess> | undefined;
	#inner: WorkerTransport | undefined;

	constructor(server: ProgramOptions, run: RunOptions) {
		this.#server = server;
		this.#run = run;
	}

	async start(): Promise<void> {
		if (this.#pool !== undefined)
			throw new Error("mcpTransport: this server was started already.");
		const server = this.#server;
		this.#pool = await createPool({
			...this.#run,
			size: 1,
			// As with the official transport, the end of the server ends the transport.
			start: { maxRestarts: 0 },
			adapter: {
				name: server.name ?? "mcp",
				launch: (slot) => stdioSpec(server, slot),
				connect: async (process: WorkerProcess) => ({
					client: process,
					execute: async () => {
						throw new Error("A transport has no commands.");
					},
					leave: async () => void process.stdin?.end(),
					[Symbol.asyncDispose]: async () => {},
				}),
			},
		});
		const started = Promise.withResolvers<void>();
		// The transport keeps its worker until it is closed. When the worker ends, the transport ends.
		this.#pool
			.use(async (process) => {
				this.#wire(new WorkerTransport(process));
				started.resolve();
				await Promise.race([this.#closed.promise, process.exited]);
			})
			.catch((error: Error) => {
				started.reject(error);
				this.onerror?.(error);
			})
			.finally(() => this.close());
		await started.promise;
		await this.#inner?.start();
	}

	async send(message: JSONRPCMessage): Promise<void> {
		if (this.#inner === undefined)
			throw new Error("mcpTransport: there is no server. Call start() first.");
		await this.#inner.send(message);
	}

	/** Ends the server; resolves when no process of it is left. */
	async close(): Promise<void> {
		this.#closed.resolve();
		await this.#pool?.close({ manner: "gentle" });
	}

	#wire(inner: WorkerTransport): void {
		this.#inner = inner;
		inner.onclose = () => this.onclose?.();
		inner.onerror = (error) => this.onerror?.(error);
		inner.onmessage = (message) => this.onmessage?.(message);
	}
}
