import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testMark } from "../../../../scripts/test-mark.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

interface Said {
	readonly free: number;
	readonly ok?: true;
	readonly typed?: boolean;
	readonly code?: string;
	readonly message?: string;
}

/** What a program says that begins with no descriptor left and has one more at each attempt. */
async function attempts(place: string): Promise<readonly Said[]> {
	const program = join(import.meta.dirname, "few-descriptors-program.ts");
	const child = spawn(
		"/bin/sh",
		[
			...["-c", 'ulimit -n 80 && exec "$@"', "sh"],
			...[process.execPath, "--conditions=snakepit-source", program],
			join(place, "ledger"),
		],
		{
			stdio: ["ignore", "pipe", "inherit"],
			env: { ...process.env, ...testMark(), TMPDIR: place },
		},
	);
	let text = "";
	child.stdout.on("data", (chunk) => {
		text += chunk;
	});
	await once(child, "close");
	return text
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line));
}

test("whatever lacks a descriptor reports it, with its remedy, and leaves nothing behind", {
	timeout: 120_000,
}, async () => {
	const place = temporaryDirectory();
	const said = await attempts(place);
	const failures = said.filter(({ ok }) => !ok);
	expect(failures.length).toBeGreaterThan(3);
	expect(said.at(-1)).toMatchObject({ ok: true });
	for (const failure of failures) {
		expect(failure).toMatchObject({
			typed: true,
			code: expect.stringMatching(
				/^(OUT_OF_DESCRIPTORS|REGISTRY_OUT_OF_DESCRIPTORS|SPAWN_FAILED)$/,
			),
			message: expect.stringMatching(/ulimit -n/),
		});
		expect(failure.message).not.toMatch(/writable|XDG_RUNTIME_DIR/);
	}
	// The machine, the ledger and the program each lacked one.
	expect(new Set(failures.map(({ code }) => code)).size).toBe(3);
	expect(readdirSync(join(place, "ledger/runs"))).toEqual([]);
	expect(
		readdirSync(place).filter((name) => name.startsWith("snakepit-")),
	).toEqual([]);
	expect(existsSync(join(place, "ledger/history"))).toBe(true);
});
