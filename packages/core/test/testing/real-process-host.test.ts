import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { SystemProcessHost } from "../../src/os/process-host.ts";
import {
	type ContractProgram,
	processHostContract,
} from "../../src/testing.ts";

const node = (script: string): ContractProgram => ({
	executable: process.execPath,
	args: ["-e", script],
});
const FOR_EVER = "setInterval(() => {}, 1e9);";

const directory = mkdtempSync(join(tmpdir(), "snakepit-host-"));
afterAll(() => rmSync(directory, { recursive: true }));

describe("the real process host keeps the contract of hosts", () => {
	const cases = processHostContract({
		host: () => new SystemProcessHost(),
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
