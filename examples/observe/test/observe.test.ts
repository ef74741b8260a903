import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { isThorough } from "../../../scripts/test-effort.ts";

const program = join(import.meta.dirname, "../src/main.ts");
/** A test does not compile the viewer, which takes minutes. */
const standIn = join(import.meta.dirname, "stand-in-viewer.mjs");
const FIRST_RUN_MS = 300_000;

test.runIf(isThorough())(
	"the demo exports to a viewer, which ends with Ctrl-C",
	async () => {
		const child = spawn(
			process.execPath,
			["--conditions=snakepit-source", program, standIn],
			{ stdio: ["ignore", "pipe", "inherit"] },
		);
		onTestFinished(() => void child.kill("SIGKILL"));
		const exited = once(child, "exit");
		let output = "";
		let url = "";
		for await (const line of createInterface({ input: child.stdout })) {
			output += `${line}\n`;
			url = /^open +(http:\S+)$/.exec(line)?.[1] ?? "";
			if (url !== "") break;
		}
		expect(output).toMatch(/^telemetry +sent to /m);
		const received = await (await fetch(url)).json();
		expect(received).toEqual(["logs", "metrics", "traces"]);
		child.kill("SIGINT");
		await exited;
		await expect(fetch(url)).rejects.toThrow("fetch failed");
	},
	FIRST_RUN_MS,
);
