import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SERVERS } from "./servers.ts";

test("the README's program runs", () => {
	const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
	const [, code = ""] = /^```ts\n(.*?)^```$/ms.exec(readme) ?? [];
	// Below npx it starts twice as slowly.
	const written = '["npx", "pyright-langserver", "--stdio"]';
	expect(code).toContain(written);
	const place = mkdtempSync(join(import.meta.dirname, ".snippets-"));
	try {
		writeFileSync(
			join(place, "main.ts"),
			code.replace(written, JSON.stringify(SERVERS.pyright.command)),
		);
		const { stdout, stderr } = spawnSync(
			process.execPath,
			["--conditions=snakepit-source", "main.ts"],
			{
				cwd: place,
				encoding: "utf8",
				env: { ...process.env, XDG_STATE_HOME: place },
			},
		);
		expect({ stdout, stderr }).toEqual({
			stdout: "(variable) price: float\n",
			stderr: "",
		});
	} finally {
		rmSync(place, { recursive: true, force: true });
	}
});
