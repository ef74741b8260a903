import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { CommandDescription } from "@snakepit/core/adapter";
import { NO_TIME_LIMIT } from "./no-time-limit.ts";
import { unknownTool } from "./tool-errors.ts";

/** The most pages of a list, so that a server with an endless list cannot cause endless requests. */
const MOST_PAGES = 100;

/** The tools of one server, requested again when they may have changed. */
export class ToolList {
	readonly #client: Client;
	#tools: ReadonlyMap<string, CommandDescription> = new Map();

	constructor(client: Client) {
		this.#client = client;
	}

	get names(): readonly string[] {
		return [...this.#tools.keys()];
	}

	get descriptions(): readonly CommandDescription[] {
		return [...this.#tools.values()];
	}

	async load(signal?: AbortSignal): Promise<void> {
		if (this.#client.getServerCapabilities()?.tools === undefined) return;
		const tools = new Map<string, CommandDescription>();
		let cursor: string | undefined;
		for (let page = 0; page < MOST_PAGES; page++) {
			const listed = await this.#client.listTools(
				cursor === undefined ? {} : { cursor },
				{ ...NO_TIME_LIMIT, ...(signal && { signal }) },
			);
			for (const { name, description = "", inputSchema } of listed.tools)
				tools.set(name, {
					...{ name, description, argumentsSchema: inputSchema },
				});
			cursor = listed.nextCursor;
			if (cursor === undefined) break;
		}
		this.#tools = tools;
	}

	/** @throws InputError `TOOL_NOT_FOUND`, if the server does not have it now. */
	async mustHave(tool: string): Promise<void> {
		if (this.#tools.has(tool)) return;
		await this.load();
		if (!this.#tools.has(tool)) throw unknownTool(tool, this.names);
	}
}
