import { execFile, spawnSync } from "node:child_process";
import {
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { developmentPython } from "../../../../scripts/python-environment.ts";
import { testWorkersEnv } from "../../../../scripts/test-workers.ts";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";

const DEADLINE_MS = 180_000;
const own = join(import.meta.dirname, "../..");
/** Programs, whose first line names their file, and sessions in a terminal. */
const BLOCK =
	/^```(?:(?:ts|py)\n(?<text>(?:\/\/|#) (?<name>\S+\.(?:ts|py))\n.*?)|console\n(?<session>.*?))^```$/gms;
/** What stands for what is left out: lines, or the rest of one. */
const LEFT_OUT = "…";

test(
	"the commands of docs/what-died-at-3-am.md print what it shows, but for ids, pids, times and places",
	async () => {
		const page = readFileSync(
			join(own, "../../docs/what-died-at-3-am.md"),
			"utf8",
		);
		// Inside the package, so that its imports resolve as a user's would.
		const directory = mkdtempSync(join(own, ".snippets-"));
		const env = {
			...process.env,
			// The page shows workers as users get them.
			...testWorkersEnv(""),
			XDG_STATE_HOME: join(directory, "state"),
			VIRTUAL_ENV: join(developmentPython(), "../.."),
		};
		const options = { cwd: directory, env };
		onTestFinished(() => {
			const [program, ...before] = SNAKEPIT_IN_NODE;
			spawnSync(program, [...before, "reap"], options);
			rmSync(directory, { recursive: true, force: true });
		});
		let commands = 0;
		for (const { groups = {} } of page.matchAll(BLOCK)) {
			const { name, text = "", session = "" } = groups;
			if (name !== undefined) writeFileSync(join(directory, name), text);
			for (const [, command = "", shown = ""] of session.matchAll(
				/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm,
			)) {
				const [program, ...args] = words(command);
				// Other tests have programs at the same time.
				if (command === "snakepit ps")
					args.push(...ledgerIn(env.XDG_STATE_HOME));
				const { stdout } = await promisify(execFile)(
					program,
					args,
					options,
				).catch((error) => error);
				expect(`${comparable(stdout)}\n`, command).toMatch(pattern(shown));
				commands++;
			}
		}
		expect(commands).toBeGreaterThan(6);
	},
	DEADLINE_MS,
);

/** The ledger of the one machine that wrote here. */
function ledgerIn(stateHome: string): readonly string[] {
	const place = join(stateHome, "snakepit");
	return ["--data-dir", join(place, readdirSync(place)[0] ?? "")];
}

/** The program that a command of the page names, and its arguments. */
function words(command: string): readonly [string, ...string[]] {
	const [program = "", ...args] = command.split(" ");
	if (program === "snakepit") return [...SNAKEPIT_IN_NODE, ...args];
	if (program === "node")
		return [process.execPath, "--conditions=snakepit-source", ...args];
	return [program, ...args];
}

/** Text without what differs from run to run and from machine to machine. */
function comparable(text: string): string {
	return (
		text
			.replace(/ --data-dir [^ \n]*[^ \n.]/g, "")
			.replace(/\b[a-z0-9]{7}\b(?= +night\.ts| +invoices[-/]| +died)/g, "ID")
			.replace(/(?<=\brun |night\.ts +)[a-z0-9]{7}\b/g, "ID")
			.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, "TIME")
			.replace(/\b\d+(\.\d+)? (ms|s|min)\b/g, "DURATION")
			.replace(/0x[0-9a-f]+/g, "ADDRESS")
			// Either worker may get the first call.
			.replace(/\binvoices-\d\b/g, "WORKER")
			.replace(/(?<!tools\.py", line )\b\d{2,}\b/g, "N")
			.replace(/"[^"]*\//g, '"')
			.replace(/ at \/\S*\//g, " at ")
			.replace(/[ \t]+/g, " ")
			.trim()
	);
}

function pattern(shown: string): RegExp {
	const lines = comparable(shown).split("\n");
	const patterns = lines.map((line) =>
		line.trim() === LEFT_OUT
			? "(?:.*\n)*?"
			: `${line.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(LEFT_OUT, ".*")}\n`,
	);
	return new RegExp(`^${patterns.join("")}$`);
}
