import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { needsPython, python } from "./uvicorn.ts";

test.runIf(python)(`the README's program runs${needsPython}`, () => {
	const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
	const place = mkdtempSync(join(import.meta.dirname, ".snippets-"));
	try {
		for (const [, name = "", code = ""] of readme.matchAll(
			/^```(?:py|ts)\n(?:#|\/\/) (\S+)\n(.*?)^```$/gms,
		))
			writeFileSync(join(place, name), code);
		const { stdout, stderr } = spawnSync(
			process.execPath,
			["--conditions=snakepit-source", "main.ts"],
			{
				cwd: place,
				encoding: "utf8",
				env: {
					...process.env,
					PATH: `${dirname(python ?? "")}:${process.env["PATH"]}`,
					XDG_STATE_HOME: place,
				},
			},
		);
		expect({ stdout, errors: /error/i.test(stderr) && stderr }).toEqual({
			stdout: "{ words: 3 }\n3\n2\n1\ntrue\n",
			errors: false,
		});
	} finally {
		rmSync(place, { recursive: true, force: true });
	}
});
