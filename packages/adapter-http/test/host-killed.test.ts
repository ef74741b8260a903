import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { markedHost } from "../../../scripts/marked-host.ts";
import { dataDirectory } from "../../../scripts/test-data-directory.ts";
import type { HttpOptions } from "../src/index.ts";
import { needsPython, python, uvicorn } from "./uvicorn.ts";

const WHERE: Readonly<Record<string, Pick<HttpOptions, "command" | "listen">>> =
	{
		"a socket": { command: uvicorn("--uds", "{socket}", "--workers", "2") },
		"a port": {
			command: uvicorn("--port", "{port}", "--workers", "2"),
			listen: "tcp",
		},
	};

describe.runIf(python && process.platform === "linux")(
	`uvicorn with two processes below its first one, in a call${needsPython}`,
	() => {
		test.each(Object.entries(WHERE))(
			"on %s is gone when the host is killed",
			async (_, options) => {
				await using host = await markedHost(
					join(import.meta.dirname, "host-program.ts"),
					[dataDirectory(), JSON.stringify({ ...options, ready: "/health" })],
				);
				// The first one, and two servers; Python's own helpers besides.
				expect(host.living().length).toBeGreaterThanOrEqual(3);
				expect(await host.kill(20_000)).toEqual([]);
			},
		);
	},
);
