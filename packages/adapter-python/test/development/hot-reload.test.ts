import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
	type MarkedHost,
	markedHost,
} from "../../../../scripts/marked-host.ts";
import { isThorough } from "../../../../scripts/test-effort.ts";
import { type Page, viteProject } from "./vite-project.ts";

const SERVER = fileURLToPath(new URL("./vite-server.ts", import.meta.url));
const SAVES = 5;
/** Both packages are transformed by Vite, with a cold cache. */
const TIMEOUT_MS = 120_000;

function pagesOf(root: string): readonly Page[] {
	return JSON.parse(readFileSync(join(root, "pages.json"), "utf8"));
}

/** Processes of Python that the server started, without the preloaded parent that some of them may have. */
function workersOf(host: MarkedHost): readonly number[] {
	const bridges = host
		.living()
		.filter(({ pid }) =>
			readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("snakepit_bridge"),
		);
	const parents = new Set(bridges.map(({ parentPid }) => parentPid));
	return bridges.map(({ pid }) => pid).filter((pid) => !parents.has(pid));
}

for (const [core, what] of [
	["outside", "its module is saved"],
	["inside", "everything is loaded again, with core itself,"],
] as const)
	test.runIf(
		process.platform === "linux" && (core === "outside" || isThorough()),
	)(
		`a shared pool keeps its two workers when ${what} ${SAVES} times below Vite`,
		async () => {
			const root = viteProject("sharedPool");
			await using host = await markedHost(SERVER, [root, `${SAVES}`, core]);
			const pages = pagesOf(root);
			expect(pages.map(({ versions }) => versions)).toEqual(
				Array.from({ length: SAVES + 1 }, (_, save) => [save, save]),
			);
			const [{ pids }] = pages as [Page];
			expect(pids).toHaveLength(2);
			expect(pages.map((page) => page.pids)).toEqual(pages.map(() => pids));
			expect(workersOf(host)).toEqual([...pids].sort((a, b) => a - b));
			expect(await host.kill(10_000)).toEqual([]);
		},
		TIMEOUT_MS,
	);

test.runIf(process.platform === "linux" && isThorough())(
	"a pool that its module makes itself is there once more after each save",
	async () => {
		const root = viteProject("createPool");
		await using host = await markedHost(SERVER, [root, "2", "outside"]);
		expect(workersOf(host)).toHaveLength(3 * 2);
	},
	TIMEOUT_MS,
);
