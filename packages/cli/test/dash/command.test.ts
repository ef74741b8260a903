import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";

function started(options: Readonly<Record<string, unknown>>) {
	const page = mkdtempSync(join(tmpdir(), "snakepit-page-"));
	writeFileSync(join(page, "index.html"), "the page");
	const child = spawn(
		process.execPath,
		[
			"--conditions=snakepit-source",
			join(import.meta.dirname, "dash-program.ts"),
			JSON.stringify({ open: false, ...options }),
			page,
		],
		{ stdio: ["ignore", "pipe", "pipe"] },
	);
	onTestFinished(() => {
		child.kill("SIGKILL");
		rmSync(page, { recursive: true });
	});
	return child;
}

test("it prints a link that serves the page, and ends with Ctrl-C", async () => {
	const child = started({ json: true });
	const [line] = await once(createInterface(child.stdout), "line");
	const { url, port } = JSON.parse(line) as { url: string; port: number };
	expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]{64}$/);
	const page = await fetch(`http://127.0.0.1:${port}/`);
	expect(await page.text()).toBe("the page");
	const end = once(child, "exit");
	child.kill("SIGINT");
	expect(await end).toEqual([null, "SIGINT"]);
});

test("a port that is in use is a clear error", async () => {
	const other = createServer().listen(0, "127.0.0.1");
	await once(other, "listening");
	onTestFinished(() => void other.close());
	const { port } = other.address() as { port: number };
	const child = started({ port });
	const [errors, [status]] = await Promise.all([
		text(child.stderr),
		once(child, "exit"),
	]);
	expect(status).toBe(1);
	expect(errors).toContain(`cannot listen on port ${port}`);
	expect(errors).toContain("--port");
});

test("a run that is not there is said, and no page is served", async () => {
	const child = started({ run: "zzzzzzz" });
	const [shown, errors, [status]] = await Promise.all([
		text(child.stdout),
		text(child.stderr),
		once(child, "exit"),
	]);
	expect({ shown, status }).toEqual({ shown: "", status: 3 });
	expect(errors).toContain('No run "zzzzzzz" can be shown');
});
