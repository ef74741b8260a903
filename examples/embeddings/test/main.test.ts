import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const example = fileURLToPath(new URL("..", import.meta.url));

const python = join(example, "../../python/.venv/bin/python");
const hasNumpy =
	spawnSync(python, ["-c", "import numpy"], { stdio: "ignore" }).status === 0;
const why = hasNumpy ? "" : " (skipped: numpy is not installed)";

describe.skipIf(!hasNumpy)(`the server${why}`, () => {
	const home = mkdtempSync(join(tmpdir(), "snakepit-example-"));
	let server: ChildProcess;
	let url = "";

	beforeAll(async () => {
		server = spawn(
			process.execPath,
			["--conditions=snakepit-source", "src/main.ts", "0", python],
			{
				cwd: example,
				env: { ...process.env, XDG_STATE_HOME: home },
				stdio: ["ignore", "pipe", "inherit"],
			},
		);
		const lines = createInterface({ input: server.stdout as never });
		[url] = (await once(lines, "line")) as [string];
	}, 60_000);

	afterAll(() => {
		server.kill("SIGKILL");
		rmSync(home, { recursive: true, force: true });
	});

	const post = (body: string): Promise<Response> =>
		fetch(`${url}/embeddings`, { method: "POST", body });
	const embed = async (...input: string[]): Promise<number[][]> => {
		const response = await post(JSON.stringify({ input }));
		expect(response.status).toBe(200);
		return ((await response.json()) as { embeddings: number[][] }).embeddings;
	};
	const work = async () =>
		(await (await fetch(`${url}/work`)).json()) as {
			texts: number;
			passes: number;
		};

	test("the texts of a request take few passes", async () => {
		const before = await work();
		await embed(...Array.from({ length: 128 }, (_, n) => `text ${n}`));
		const after = await work();
		expect(after.texts - before.texts).toBe(128);
		expect(after.passes - before.passes).toBeLessThan(64);
	});

	test("a text without words is refused, and one of another request is not", async () => {
		const [refused, [vector = []]] = await Promise.all([
			post('{"input": ["a word", " "]}'),
			embed("a word"),
		]);
		expect(refused.status).toBe(422);
		expect(await refused.json()).toEqual({
			error: "a text without words has no embedding",
		});
		expect(vector).toHaveLength(64);
	});

	test("it ends by SIGTERM, with its worker", async () => {
		server.kill("SIGTERM");
		expect(await once(server, "close")).toEqual([0, null]);
	});
});
