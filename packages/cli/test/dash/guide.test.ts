import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	existsSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { developmentPython } from "../../../../scripts/python-environment.ts";
import { buildPage } from "../../build-page.ts";

const own = join(import.meta.dirname, "../..");
const guide = readFileSync(join(own, "../../docs/dashboard.md"), "utf8");
const PROGRAMS = [
	...guide.matchAll(/^```ts\n\/\/ (\S+\.ts)\n(.*?)^```$/gms),
].map(([, name = "", text = ""]) => [name, text] as const);
const LISTENS = /\.listen\(3000, "127\.0\.0\.1"\)/;
/** What the guide's logins know. */
const COOKIES = ["operator=yes", "session=1"];

test("the guide has a program for node:http and one for Express", () => {
	expect(PROGRAMS.map(([name]) => name)).toEqual(["server.ts", "app.ts"]);
});

test.each(PROGRAMS)(
	"%s of the guide answers as before, and shows its runs to users who are logged in",
	async (name, text) => {
		const page = join(own, "dist/page");
		if (!existsSync(page)) await buildPage(page);
		// Inside the package, so that its imports resolve as a user's would.
		const directory = mkdtempSync(join(own, ".snippets-"));
		expect(text).toMatch(LISTENS);
		// Any free port, which it prints.
		const program = text.replace(
			LISTENS,
			'.listen(0, "127.0.0.1", function (this: { address(): unknown }) { console.log(JSON.stringify(this.address())); })',
		);
		writeFileSync(join(directory, name), program);
		const child = spawn(
			process.execPath,
			["--conditions=snakepit-source", name],
			{
				cwd: directory,
				env: {
					...process.env,
					XDG_STATE_HOME: join(directory, "state"),
					VIRTUAL_ENV: join(developmentPython(), "../.."),
				},
				stdio: ["ignore", "pipe", "inherit"],
			},
		);
		const exit = once(child, "exit");
		onTestFinished(async () => {
			child.kill("SIGTERM");
			await exit;
			rmSync(directory, { recursive: true, force: true });
		});
		const [line] = await once(createInterface(child.stdout), "line");
		const { port } = JSON.parse(line) as { port: number };
		const origin = `http://127.0.0.1:${port}`;
		const answers = await fetch(origin);
		expect(await answers.text()).toBe("4");
		const path = name === "server.ts" ? "/pools" : "/admin/pools";
		const closed = await fetch(`${origin}${path}/`);
		expect(closed.status).toBe(403);
		const statuses: number[] = [];
		for (const cookie of COOKIES) {
			const opened = await fetch(`${origin}${path}`, { headers: { cookie } });
			statuses.push(opened.status);
			if (opened.status !== 200) continue;
			expect(await opened.text()).toContain('src="app.js"');
			const runs = await fetch(`${origin}${path}/api/runs`, {
				headers: { cookie },
			});
			expect((await runs.json()).runs).toHaveLength(1);
		}
		expect(statuses.toSorted()).toEqual([200, 403]);
	},
	60_000,
);
