import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { testPool } from "../../../../scripts/test-pool.ts";
import { python } from "../../src/index.ts";
import { PYTHON } from "../support/pythons.ts";

const TOOLS = `
import logging
from logging import basicConfig
from snakepit_bridge import tool

logging.getLogger().setLevel(logging.ERROR)

@tool
def logs() -> None:
    logging.getLogger("shop").warning("too quiet for the tools")
    logging.getLogger("shop").error("sold out")

@tool
def configures() -> int:
    basicConfig(format="by the tools: %(message)s")
    return len(logging.getLogger().handlers)
`;

test.each([
	["started", "off"],
	["forked from a preloaded parent", "tools"],
	["forked from a parent that imports the bridge", "bridge"],
] as const)(
	"what tools set up of logging at their import holds in workers that are %s",
	async (_, preload) => {
		const tools = join(temporaryDirectory(), "shop.py");
		writeFileSync(tools, TOOLS);
		const adapter = python({ python: PYTHON, tools, preload });
		const { pool, events } = await testPool({ adapter });
		await pool.execute("logs");
		expect(
			events.of("worker.logged").map(({ record }) => record.message),
		).toEqual(["sold out"]);
		// The bridge's own, and that of the tools.
		expect(await pool.execute("configures")).toBe(2);
	},
);
