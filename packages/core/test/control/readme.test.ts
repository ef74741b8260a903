import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import { controlledHost } from "./controlled-host.ts";

const readme = readFileSync(
	new URL("../../../control/README.md", import.meta.url),
	"utf8",
);

test("the program of control's README shows the workers of a run", async () => {
	const host = await controlledHost({ control: true });
	const [, code = ""] = /^```ts\n(.*?)^```$/ms.exec(readme) ?? [];
	// Other programs of this machine may have runs as well.
	expect(code).toContain("attach()");
	const only = `attach(${JSON.stringify({ run: host.runId })})`;
	const place = mkdtempSync(join(import.meta.dirname, ".snippets-"));
	onTestFinished(() => removeDirectory(place));
	writeFileSync(join(place, "look.ts"), code.replace("attach()", only));
	const child = spawn(
		process.execPath,
		["--conditions=snakepit-source", "look.ts"],
		{ cwd: place, stdio: ["ignore", "pipe", "inherit"] },
	);
	let text = "";
	child.stdout.on("data", (chunk) => {
		text += chunk;
	});
	expect(await once(child, "close")).toEqual([0, null]);
	expect(text).toMatch(
		/^2 workers, 0 busy; no call waits\.\nlines-0 \d+ ready\nlines-1 \d+ ready\n$/,
	);
});
