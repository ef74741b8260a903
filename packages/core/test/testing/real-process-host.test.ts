import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { SystemProcessHost } from "../../src/os/this-machine.ts";
import { NODE_PROGRAMS } from "./node-programs.ts";
import { processHostContract } from "./process-host-contract.ts";

const directory = mkdtempSync(join(tmpdir(), "snakepit-host-"));
afterAll(() => rmSync(directory, { recursive: true }));

describe("the real process host keeps the contract of hosts", () => {
	const cases = processHostContract({
		host: () => new SystemProcessHost(),
		directory,
		programs: NODE_PROGRAMS,
	});
	test.each(cases)("$title", ({ run }) => run());
});
