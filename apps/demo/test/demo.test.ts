import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../scripts/test-data-directory.ts";
import { isThorough } from "../../../scripts/test-effort.ts";
import { FIRST_RUN_MS, goneAfterMs, runDemo } from "./demo-program.ts";

test(
	"every image is answered exactly once although a worker is killed, and nothing is left",
	async () => {
		const { code, output, errors } = await runDemo(temporaryDirectory(), []);
		expect(errors).toBe("");
		expect(output).toMatch(/^to look at it .*: npx pnpm@12 snakepit top$/m);
		expect(output).toMatch(/^in the browser.*: npx pnpm@12 demo --dash$/m);
		expect(output).toMatch(/^answered +1,797 of 1,797 images exactly once$/m);
		expect(output).toMatch(/^accuracy +97\.3 %, /m);
		expect(output).toMatch(/^throughput +[\d,]+ images\/s/m);
		expect(output).toMatch(
			/^restarts +1, digits-\d: pid \d+ killed, pid \d+ ready/m,
		);
		expect(output).toMatch(
			/^digits-\d is gone, pid \d+: SIGKILL, \d calls? lost$/m,
		);
		expect(output).toMatch(
			/^left +0 processes, by group or marker, of \d+ looked at$/m,
		);
		expect(code).toBe(0);

		// Output that does not go to a terminal has whole lines and no escape codes.
		// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
		expect(output).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
		for (let tenth = 1; tenth <= 10; tenth++)
			expect(output).toMatch(
				new RegExp(`^ *${tenth}0 % {2}reading digits`, "m"),
			);
	},
	FIRST_RUN_MS,
);

// What runs the demo a second time is for `check`.
test.runIf(isThorough())(
	"a host that is killed in full flight leaves nothing",
	async () => {
		const { code, output } = await runDemo(temporaryDirectory(), [
			"--kill-host",
		]);
		// The guard and the preloaded parent of the four workers lead a process group each, too.
		const groups = process.platform === "linux" ? 6 : 4;
		expect(output).toMatch(
			new RegExp(
				`^killed host \\d+ with SIGKILL .* it had ${groups} process groups$`,
				"m",
			),
		);
		// On a machine with nothing else to do it is a tenth of a second.
		expect(goneAfterMs(output)).toBeLessThan(10_000);
		expect(code).toBe(goneAfterMs(output) <= 1_000 ? 0 : 1);
	},
	FIRST_RUN_MS,
);

// On macOS the browser would be opened.
test.runIf(isThorough() && process.platform !== "darwin")(
	"--dash serves the page of a run that lasts until Ctrl-C, and neither is left",
	async () => {
		let served: Promise<number> | undefined;
		const { signal, output, errors } = await runDemo(
			temporaryDirectory(),
			["--dash"],
			(output, child) => {
				const [, page] =
					/^(http:\/\/127\.0\.0\.1:\d+\/)#token=/m.exec(output) ?? [];
				if (page === undefined || served !== undefined) return;
				served = fetch(page)
					.then(({ status }) => status)
					.finally(() => child.kill("SIGINT"));
			},
		);
		expect(await served, `${output}${errors}`).toBe(200);
		expect(signal).toBe("SIGINT");
		const url = /http:\S+/.exec(output)?.[0] ?? "";
		await expect(fetch(url)).rejects.toThrow();
	},
	FIRST_RUN_MS,
);

test("a wrong flag is an error with exit code 2, and the help has exit code 0", async () => {
	const [wrong, help] = await Promise.all([
		runDemo("", ["--kill-hosts"]),
		runDemo("", ["--help"]),
	]);
	expect(wrong.errors).toMatch(/^Unknown option '--kill-hosts'.*--help/s);
	expect(wrong).toMatchObject({ output: "", code: 2 });
	expect(help.output).toContain("--kill-host");
	expect(help).toMatchObject({ errors: "", code: 0 });
}, 120_000);
