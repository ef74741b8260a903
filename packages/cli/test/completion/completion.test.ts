import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { controlledHost } from "../../../core/test/control/controlled-host.ts";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";

const [program, ...before] = SNAKEPIT_IN_NODE;

function script(shell: string): string {
	const { status, stdout, stderr } = spawnSync(
		program,
		[...before, "completion", shell],
		{ encoding: "utf8" },
	);
	expect(status, stderr).toBe(0);
	return stdout;
}

/** A directory with a script of completions, a file and a directory. */
function place(shell: string): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-cli-"));
	onTestFinished(() => rmSync(path, { recursive: true, force: true }));
	writeFileSync(join(path, "completions"), script(shell));
	writeFileSync(join(path, "tools of mine.py"), "");
	mkdirSync(join(path, "folder"));
	// The command that the script asks for names.
	mkdirSync(join(path, "bin"));
	const asked = join(path, "bin", "snakepit");
	const quoted = SNAKEPIT_IN_NODE.map((word) => `'${word}'`).join(" ");
	writeFileSync(asked, `#!/bin/sh\nexec ${quoted} "$@"\n`, { mode: 0o700 });
	return path;
}

function output(
	shell: string,
	args: readonly string[],
	cwd: string,
	input?: string,
): string {
	const { stdout, stderr, error } = spawnSync(shell, args, {
		...{ cwd, encoding: "utf8", timeout: 60_000 },
		...(input !== undefined && { input }),
		env: {
			PATH: `${join(cwd, "bin")}:${process.env["PATH"]}`,
			HOME: cwd,
			TERM: "dumb",
			TMPDIR: tmpdir(),
		},
	});
	if (error !== undefined) throw error;
	expect(stderr.replaceAll("\r", "")).not.toMatch(/error|not found|syntax/i);
	return stdout;
}

const CASES: readonly (readonly [
	words: readonly string[],
	completed: readonly string[],
])[] = [
	[["hi"], ["history"]],
	[["re"], ["reap", "recycle", "restart", "resume", "resize"]],
	[
		["reap", "--d"],
		["--dry-run", "--data-dir"],
	],
	[
		["history", "-"],
		["--data-dir", "--json", "--run", "--runs", "-h", "--help"],
	],
	[["ps", "--data-dir", "f"], ["folder"]],
	[["init", "--template", "ex"], ["express"]],
	[
		["completion", ""],
		["bash", "zsh", "fish"],
	],
	[["mcp", "too"], ["tools of mine.py"]],
	[["mcp", "--python", "x", "--workers", "2", "too"], ["tools of mine.py"]],
	[
		["run", "--"],
		["--grace", "--with-stdin", "--verbose", "--help"],
	],
	[["run", "--", "cat", "too"], ["tools of mine.py"]],
	[["pause", "x", ""], []],
];

test("bash completes commands, options, their values and files", () => {
	const cwd = place("bash");
	const calls = CASES.map(([words]) => {
		const line = ["snakepit", ...words];
		const quoted = line.map((word) => `'${word}'`).join(" ");
		return `COMP_WORDS=(${quoted}); COMP_CWORD=${line.length - 1}; _snakepit; for each in "\${COMPREPLY[@]}"; do echo "$each"; done; echo .`;
	});
	const stdout = output(
		"bash",
		["--norc", "--noprofile", "-c", `. ./completions\n${calls.join("\n")}`],
		cwd,
	);
	const completed = stdout
		.split(".\n")
		.slice(0, -1)
		.map((lines) => lines.split("\n").filter((line) => line !== ""));
	expect(
		completed.map((words, index) => [CASES[index]?.[0], words.toSorted()]),
	).toEqual(CASES.map(([words, all]) => [words, all.toSorted()]));
});

/** Types into a shell in a terminal. */
const TYPES = "import pty, sys; pty.spawn(sys.argv[1:])";

test("in a terminal, Tab in bash completes what is typed", () => {
	const cwd = place("bash");
	const typed = [
		"source ./completions",
		// What is completed is shown as it arrives.
		'snakepit() { printf "<%s>" "$@"; echo; }',
		"snakepit hist\t --runs\t7 --da\tfol\t",
		"snakepit mcp to\t",
		"exit",
		"",
	].join("\n");
	const shown = output(
		"python3",
		["-c", TYPES, "bash", "--norc", "--noprofile", "-i"],
		cwd,
		typed,
	);
	expect(shown).toContain("<history><--runs><7><--data-dir><folder/>");
	expect(shown).toContain("<mcp><tools of mine.py>");
});

const isThere = (shell: string): boolean =>
	spawnSync(shell, ["--version"]).status === 0;

describe.each(["bash", "zsh", "fish"])("names in %s", (shell) => {
	test.runIf(isThere(shell))(
		`are those of living runs, pools and workers${isThere(shell) ? "" : " (it is not installed)"}`,
		async () => {
			const { runId } = await controlledHost({ control: true });
			const cwd = place(shell);
			const lines: readonly (readonly [typed: string, whole: string])[] = [
				[`top --run ${runId.slice(0, 6)}`, runId],
				["logs --worker lines-1", "lines-1"],
				["restart lines-1", "lines-1"],
				["pause --pool lin", "lines"],
				["call slee", "sleep"],
			];
			if (shell === "zsh") {
				const typed = [
					"autoload -Uz compinit && compinit -u -D",
					"source ./completions",
					'snakepit() { printf "<%s>" "$@"; echo; }',
					...lines.map(([line]) => `snakepit ${line}\t`),
					"exit",
					"",
				].join("\n");
				const args = ["-c", TYPES, "zsh", "-f", "-i"];
				const shown = output("python3", args, cwd, typed);
				for (const [line, whole] of lines)
					expect(shown).toContain(
						`<${[...line.split(" ").slice(0, -1), whole].join("><")}>`,
					);
				return;
			}
			for (const [line, whole] of lines)
				expect(completions(shell, line.split(" "), cwd)).toContain(whole);
		},
		90_000,
	);
});

/** Of the last word. */
function completions(
	shell: string,
	words: readonly string[],
	cwd: string,
): readonly string[] {
	const all = ["snakepit", ...words];
	const script =
		shell === "fish"
			? `source ./completions; complete -C '${all.join(" ")}'`
			: `. ./completions; COMP_WORDS=(${all.join(" ")}); COMP_CWORD=${words.length}; _snakepit; printf '%s\n' "\${COMPREPLY[@]}"`;
	const args = shell === "fish" ? ["-N"] : ["--norc", "--noprofile"];
	return output(shell, [...args, "-c", script], cwd)
		.trim()
		.split("\n")
		.map((each) => each.split("\t")[0] ?? "");
}

describe.each(["zsh", "fish"])("%s", (shell) => {
	test.runIf(isThere(shell))(
		`takes the script${isThere(shell) ? "" : " (it is not installed)"}`,
		() => {
			const cwd = place(shell);
			if (shell === "zsh") {
				const typed = [
					"autoload -Uz compinit && compinit -u -D",
					"source ./completions",
					'snakepit() { printf "<%s>" "$@"; echo; }',
					"snakepit hist\t --runs\t7",
					"exit",
					"",
				].join("\n");
				const args = ["-c", TYPES, "zsh", "-f", "-i"];
				expect(output("python3", args, cwd, typed)).toContain(
					"<history><--runs><7>",
				);
				return;
			}
			const completed = (line: string): readonly string[] =>
				completions("fish", line.split(" "), cwd);
			expect(completed("hi")).toEqual(["history"]);
			expect(completed("reap --d").toSorted()).toEqual([
				...["--data-dir", "--dry-run"],
			]);
			expect(completed("init --template ex")).toEqual(["express"]);
			expect(completed("mcp too")).toEqual(["tools of mine.py"]);
		},
	);
});

test("another shell is a usage error", () => {
	const { status, stderr } = spawnSync(
		program,
		[...before, "completion", "csh"],
		{ encoding: "utf8" },
	);
	expect(status).toBe(2);
	expect(stderr).toContain("bash, zsh, fish");
});
