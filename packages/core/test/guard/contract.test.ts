import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import {
	type ContractProgram,
	processHostContract,
} from "../../src/testing.ts";
import { closeGuard, openGuard } from "./bench.ts";

const node = (script: string): ContractProgram => ({
	executable: process.execPath,
	args: ["-e", script],
});
const FOR_EVER = "setInterval(() => {}, 1e9);";

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
		programs: {
			exitsWithSeven: node(
				'console.log("out"); console.error("err"); process.exitCode = 7;',
			),
			idles: node(`console.log("up"); ${FOR_EVER}`),
			ignoresTerm: node(
				`process.on("SIGTERM", () => {}); console.log("up"); ${FOR_EVER}`,
			),
			forks: node(
				`const { spawn } = require("node:child_process");
				const child = spawn(process.execPath, ["-e", "${FOR_EVER}"], { stdio: "ignore" });
				child.once("spawn", () => console.log("up"));`,
			),
			copies: node("process.stdin.pipe(process.stdout);"),
			copiesControl: node(
				'const { Socket } = require("node:net"); const control = new Socket({ fd: 3 }); control.pipe(control);',
			),
		},
	});
	test.each(cases)("$title", ({ run }) => run());
});
