import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rows } from "../../../../scripts/test-effort.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

/** What docs/security.md says. Before Node 25, the network needs no permission. */
const ALL = [
	"--allow-child-process",
	"--allow-addons",
	...(process.allowedNodeEnvironmentFlags.has("--allow-net")
		? ["--allow-net"]
		: []),
	"--allow-fs-read=*",
	"--allow-fs-write=/dev/null",
];

function runWith(flags: readonly string[]): string {
	const dataDir = temporaryDirectory();
	const { NODE_OPTIONS: _, ...env } = process.env;
	const { stdout, stderr } = spawnSync(
		process.execPath,
		[
			"--no-warnings",
			"--conditions=snakepit-source",
			...["--permission", ...flags],
			...[`--allow-fs-write=${dataDir}`],
			join(import.meta.dirname, "permitted-program.ts"),
			dataDir,
		],
		{
			encoding: "utf8",
			env: { ...env, XDG_RUNTIME_DIR: dataDir },
			timeout: 60_000,
		},
	);
	return stdout + stderr;
}

test("under Node's permission model, a pool works with the permissions that the page names", () => {
	expect(runWith(ALL)).toBe("answered\n");
});

test.each(
	rows(
		[
			["--allow-addons", "--allow-child-process"],
			...ALL.map((flag) => [flag]),
		].map((missing) => ({ missing: missing.toSorted() })),
		(_, index) => index === 0,
	),
)("without $missing, the error names what is missing", ({ missing }) => {
	const said = runWith([
		...ALL.filter((flag) => !missing.includes(flag)),
		// The program itself is read, too.
		...(missing.includes("--allow-fs-read=*")
			? [`--allow-fs-read=${join(import.meta.dirname, "../../../..")}`]
			: []),
	]);
	expect(said).toContain(
		"PERMISSION_MISSING This program was started with --permission, but without ",
	);
	const [, named = ""] = /without (.*?), which pools need/.exec(said) ?? [];
	const asked = [
		...new Set(named.split(", ").map((flag) => flag.replace(/=.*/, ""))),
	].toSorted();
	expect(asked).toEqual(missing.map((flag) => flag.replace(/=.*/, "")));
});
