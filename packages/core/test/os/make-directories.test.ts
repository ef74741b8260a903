import { spawnSync } from "node:child_process";
import {
	existsSync,
	mkdirSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeDirectories } from "../../src/os/private-directory.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

function codeOf(action: () => unknown): unknown {
	try {
		return action();
	} catch (error) {
		return (error as { code: string }).code;
	}
}

test("a directory is made with all above it that are not there, as private as asked", () => {
	const base = temporaryDirectory();
	const path = join(base, "a", "b", "c");
	makeDirectories(path, 0o700);
	for (const made of [join(base, "a"), join(base, "a", "b"), path])
		expect(statSync(made).mode & 0o777).toBe(0o700);
});

test("a directory that is there is left as it is", () => {
	const path = join(temporaryDirectory(), "open");
	mkdirSync(path, { mode: 0o755 });
	makeDirectories(path, 0o700);
	expect(statSync(path).mode & 0o777).toBe(0o755);
});

test.each(["file", "dangling"])(
	"below a %s it is the system's error",
	(name) => {
		const base = temporaryDirectory();
		writeFileSync(join(base, "file"), "");
		symlinkSync(join(base, "gone"), join(base, "dangling"));
		expect(codeOf(() => makeDirectories(join(base, name, "x"), 0o700))).toMatch(
			/^(EEXIST|ENOTDIR)$/,
		);
		expect(existsSync(join(base, "gone"))).toBe(false);
	},
);

// In a program of its own: what is wrong here blocks the whole program.
test.runIf(process.platform === "linux")(
	"where the file system denies what is there, it is an error instead of an endless loop",
	() => {
		const module = new URL("../../src/os/state-directory.ts", import.meta.url)
			.href;
		const program = `
			import { openStateDirectory } from ${JSON.stringify(module)};
			try { openStateDirectory("/proc/snakepit/ledger", "machine"); }
			catch (error) { console.log(error.code); }
		`;
		const { stdout, signal } = spawnSync(
			process.execPath,
			["--conditions=snakepit-source", "--input-type=module", "-e", program],
			{ timeout: 30_000, encoding: "utf8", killSignal: "SIGKILL" },
		);
		expect({ said: stdout.trim(), signal }).toEqual({
			said: "REGISTRY_UNWRITABLE",
			signal: null,
		});
	},
);
