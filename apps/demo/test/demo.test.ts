import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testWorkers } from "../../../scripts/test-workers.ts";
import { type Ended, FIRST_RUN_MS, runDemo } from "./demo-program.ts";

/** A ledger of its own for all that is started here. */
let state = "";
let whole: Ended;

beforeAll(async () => {
	state = mkdtempSync(join(tmpdir(), "snakepit-demo-"));
	whole = await demo();
}, FIRST_RUN_MS);
afterAll(() => rmSync(state, { recursive: true, force: true }));

const demo = (...flags: string[]): Promise<Ended> => runDemo(state, flags);

test("every image is answered exactly once although a worker is killed, and nothing is left", () => {
	const { code, output, errors } = whole;
	expect(errors).toBe("");
	expect(output).toMatch(/^answered +1,797 of 1,797 images exactly once$/m);
	expect(output).toMatch(/^accuracy +9\d\.\d %/m);
	expect(output).toMatch(/^throughput +[\d,]+ images\/s/m);
	expect(output).toMatch(
		/^restarts +1 {2}digits-\d: pid \d+ killed, pid \d+ ready/m,
	);
	expect(output).toMatch(
		/^digits-\d is gone, pid \d+: SIGKILL, \d calls? lost$/m,
	);
	expect(output).toMatch(
		/^left +0 processes {2}by group or marker, of \d+ looked at$/m,
	);
	expect(code).toBe(0);
});

test("output that is no terminal has whole lines and no escape codes", () => {
	const { output } = whole;
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
	expect(output).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
	for (let tenth = 1; tenth <= 10; tenth++)
		expect(output).toMatch(new RegExp(`^ *${tenth}0 % {2}reading digits`, "m"));
});

test(
	"a host that is killed in full flight leaves nothing for longer than a second",
	async () => {
		const { code, output } = await demo("--kill-host");
		// A preloaded parent leads a process group, as a worker does.
		const groups = testWorkers().preload ? 5 : 4;
		expect(output).toMatch(
			new RegExp(
				`^killed host \\d+ with SIGKILL .* it had ${groups} workers$`,
				"m",
			),
		);
		expect(output).toMatch(/^left +nothing after [\d.]+ m?s/m);
		expect(code).toBe(0);
	},
	FIRST_RUN_MS,
);

test("an unknown flag is an error that names the flags there are", async () => {
	const { code, output, errors } = await demo("--kill-hosts");
	expect(errors).toMatch(
		/'--kill-hosts'.*--kill-host, --otlp URL, --plain and --help\.\n$/,
	);
	expect(output).toBe("");
	expect(code).toBe(2);
});

test("the help names every flag", async () => {
	const { code, output, errors } = await demo("--help");
	expect(output).toContain("--kill-host");
	expect(errors).toBe("");
	expect(code).toBe(0);
});
