import { fileURLToPath } from "node:url";
import { context, propagation } from "@opentelemetry/api";
import { lsp } from "@snakepit/adapter-lsp";
import { mcp } from "@snakepit/adapter-mcp";
import { jsonRpc } from "@snakepit/adapter-stdio";
import { createPool, type Pool, type PoolOptions } from "@snakepit/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { SERVERS } from "../../../adapter-lsp/test/servers.ts";
import { server } from "../../../adapter-mcp/test/servers.ts";
import { telemetry } from "../../src/index.ts";
import { MemorySdk, unregister } from "../support/memory-sdk.ts";

let sdk: MemorySdk;
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(unregister);

type Environment = Readonly<Record<string, string | undefined>>;

interface Program {
	readonly adapter: PoolOptions["adapter"];
	/** What the program itself finds in its environment. */
	readonly find: (pool: Pool) => Promise<Environment>;
}

const NAMES = ["TRACEPARENT", "BAGGAGE"] as const;

/** Asks for one variable after the other. */
async function each(
	ask: (name: string) => Promise<unknown>,
): Promise<Environment> {
	const pairs = NAMES.map(async (name) => [
		name,
		(await ask(name)) ?? undefined,
	]);
	return Object.fromEntries(await Promise.all(pairs));
}

const PROGRAMS: Readonly<Record<string, () => Program>> = {
	"an MCP server, with the reference server `everything`": () => ({
		adapter: mcp({ command: server("everything") }),
		find: async (pool) => {
			const { content } = (await pool.execute("get-env", {})) as {
				readonly content: readonly { readonly text: string }[];
			};
			return JSON.parse(content[0]?.text ?? "{}");
		},
	}),
	"a language server": () => ({
		adapter: lsp(SERVERS.tiny),
		find: (pool) => each((name) => pool.execute("tiny/environment", { name })),
	}),
	"a program with JSON-RPC": () => {
		const program = import.meta.resolve(
			"../../../adapter-stdio/test/programs/text-tools.pl",
		);
		return {
			adapter: jsonRpc({ command: ["perl", fileURLToPath(program)] }),
			find: (pool) => each((name) => pool.execute("variable", { name })),
		};
	},
};

test.each(Object.entries(PROGRAMS))(
	"%s finds the context of its worker's start in its environment, without the baggage of who started it",
	async (_, make) => {
		const { adapter, find } = make();
		const baggage = propagation.createBaggage({ tenant: { value: "acme" } });
		const pool = await context.with(
			propagation.setBaggage(context.active(), baggage),
			() =>
				createPool({
					...{ adapter, size: 1, instruments: [telemetry()] },
					dataDir: temporaryDirectory(),
				}),
		);
		const { TRACEPARENT, BAGGAGE } = await find(pool);
		await pool.close();
		const { traceId, spanId } = (await sdk.span("worker start")).spanContext();
		expect(TRACEPARENT).toBe(`00-${traceId}-${spanId}-01`);
		expect(BAGGAGE).toBeUndefined();
	},
	180_000,
);
