import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, openSync } from "node:fs";
import { expect, test } from "vitest";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";

/** How `snakepit --help` ends, and what it says of an error. */
async function help(stdout: "gone" | number) {
	const [program, ...before] = SNAKEPIT_IN_NODE;
	const child = spawn(program, [...before, "--help"], {
		stdio: ["ignore", stdout === "gone" ? "pipe" : stdout, "pipe"],
	});
	child.stdout?.destroy();
	let stderr = "";
	child.stderr?.on("data", (text) => {
		stderr += text;
	});
	const [status] = await once(child, "close");
	return { status, stderr };
}

test("a reader that has read enough, such as head, ends the command without a message", async () => {
	expect(await help("gone")).toEqual({ status: 141, stderr: "" });
});

test.skipIf(!existsSync("/dev/full"))(
	"an output that cannot be written is named",
	async () => {
		const { status, stderr } = await help(openSync("/dev/full", "w"));
		expect(status).toBe(1);
		expect(stderr).toMatch(/^snakepit: .*ENOSPC.*\n$/);
	},
);
