import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { NODE_PROGRAMS } from "../testing/node-programs.ts";
import { processHostContract } from "../testing/process-host-contract.ts";
import { closeGuard, openGuard } from "./bench.ts";

const directory = mkdtempSync(join(tmpdir(), "snakepit-host-"));
const bench = await openGuard();
afterAll(async () => {
	await closeGuard(bench);
	rmSync(directory, { recursive: true });
});

describe("a host whose workers are forked by the guard keeps the contract of hosts", () => {
	const cases = processHostContract({
		host: () => bench.host,
		directory,
		programs: NODE_PROGRAMS,
	});
	test.each(cases)("$title", ({ run }) => run());
});
