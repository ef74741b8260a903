import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { unknownTool } from "./tool-errors.ts";

/** Pages of a list; a server whose list never ends is not asked for ever. */
const MOST_PAGES = 100;

/** The tools of one server, asked for when they may have changed. */
export class ToolList {
	readonly #client: Client;
	#names: ReadonlySet<string> = new Set();

	constructor(client: Client) {
		this.#client = client;
	}

	get names(): readonly string[] {
		return [...this.#names];
	}

	async load(signal?: AbortSignal): Promise<void> {
		if (this.#client.getServerCapabilities()?.tools === undefined) return;
		const names = new Set<string>();
		let cursor: string | undefined;
		for (let page = 0; page < MOST_PAGES; page++) {
			const listed = await this.#client.listTools(
				cursor === undefined ? {} : { cursor },
				signal && { signal },
			);
			for (const { name } of listed.tools) names.add(name);
			cursor = listed.nextCursor;
			if (cursor === undefined) break;
		}
		this.#names = names;
	}

	/** @throws InputError `TOOL_NOT_FOUND`, when the server does not have it now. */
	async mustHave(tool: string): Promise<void> {
		if (this.#names.has(tool)) return;
		await this.load();
		if (!this.#names.has(tool)) throw unknownTool(tool, this.names);
	}
}
