import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { developmentPython } from "../../../../scripts/python-environment.ts";
import { inFlags } from "../../src/command/failures.ts";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";

const [program, ...before] = SNAKEPIT_IN_NODE;

/** An option of the API, as messages name it. */
const OPTION =
	/\b[a-z]+\.(?:[a-z]+Ms|max[A-Z]?\w*)\b|\w+: \{|the adapter's option/;

test.each([
	[
		"Worker python-0 (pid 7) was not ready within 60000 ms. If it needs longer, raise start.timeoutMs.\nIts last lines:\n  | x",
		"Worker python-0 (pid 7) was not ready within 60000 ms.\nIts last lines:\n  | x",
	],
	[
		"The system has no memory for another process: free some, or start fewer workers (size.max).",
		"The system has no memory for another process: free some, or start fewer workers (--workers).",
	],
])("%j names what the command has", async (message, shown) => {
	const failed = inFlags(Promise.reject(new Error(message)));
	await expect(failed).rejects.toMatchObject({ message: shown });
	expect(shown).not.toMatch(OPTION);
});

test.each([
	["PYTHONHOME", "/nowhere", /Unset PYTHONHOME \(\/nowhere\)/],
	["VIRTUAL_ENV", "/nowhere", /unset VIRTUAL_ENV/],
])(
	"a Python that %s makes unusable is explained without options of the API",
	(variable, value, says) => {
		const place = mkdtempSync(join(tmpdir(), "snakepit-flags-"));
		onTestFinished(() => rmSync(place, { recursive: true }));
		writeFileSync(join(place, "tools.py"), "");
		const { status, stderr } = spawnSync(
			program,
			[
				...before,
				...["mcp", join(place, "tools.py"), "--data-dir", place],
				...(variable === "VIRTUAL_ENV"
					? []
					: ["--python", developmentPython()]),
			],
			{
				cwd: place,
				encoding: "utf8",
				env: { ...process.env, VIRTUAL_ENV: "", [variable]: value },
			},
		);
		expect({ status, stderr }).toMatchObject({
			status: 1,
			stderr: expect.stringMatching(says),
		});
		expect(stderr).not.toMatch(OPTION);
	},
);
