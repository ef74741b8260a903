import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createPool, type Pool, type SnakepitEvent } from "@snakepit/core";
import { afterEach, expect, test } from "vitest";
import type { ProtocolConnection } from "vscode-languageserver-protocol/node";
import { dataDirectory } from "../../../scripts/test-data-directory.ts";
import { rows } from "../../../scripts/test-effort.ts";
import { type LspRequests, lsp } from "../src/index.ts";
import { SERVERS } from "./servers.ts";

/** A file with a mistake in its second line, and what its first line defines. */
const FILES = {
	pyright: {
		name: "a.py",
		languageId: "python",
		text: 'answer: int = 42\nwrong: int = "text"\n',
		hover: "answer: Literal[42]",
		at: { line: 0, character: 1 },
	},
	typescript: {
		name: "a.ts",
		languageId: "typescript",
		text: 'const answer: number = 42;\nconst wrong: number = "text";\nexport { answer, wrong };\n',
		hover: "const answer: number",
		at: { line: 0, character: 8 },
	},
} as const;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});

async function opened(server: keyof typeof FILES) {
	const { name, languageId, text, ...rest } = FILES[server];
	const place = mkdtempSync(join(tmpdir(), "snakepit-lsp-"));
	closing.push(async () => rmSync(place, { recursive: true, force: true }));
	const file = join(place, name);
	writeFileSync(file, text);
	const uri = pathToFileURL(file).href;
	const adapter = lsp({
		...SERVERS[server],
		cwd: place,
		workspaceFolders: [pathToFileURL(place).href],
	});
	const seen: SnakepitEvent[] = [];
	const waiting: (() => void)[] = [];
	const pool: Pool<LspRequests, ProtocolConnection> = await createPool({
		dataDir: dataDirectory(),
		adapter,
		size: 1,
		callsPerWorker: 4,
		// A server answers a cancelled request when it gets to it, and it may load a project first.
		calls: { cancelGraceMs: 20_000 },
		output: { echo: "none" },
		onEvent: (event) => {
			seen.push(event);
			for (const look of waiting) look();
		},
	});
	closing.push(() => pool.close());
	/** What the server of `worker` finds in the file, as soon as it has found something. */
	const diagnostics = (worker: string | undefined) =>
		new Promise<string>((resolve) => {
			const look = (): void => {
				for (const event of seen)
					if (
						event.type === "worker.notified" &&
						event.incarnation === worker &&
						event.notification === "textDocument/publishDiagnostics"
					) {
						const { uri: of, diagnostics } = event.data as {
							uri: string;
							diagnostics: readonly { message: string }[];
						};
						if (of === uri && diagnostics.length > 0)
							resolve(diagnostics.map(({ message }) => message).join());
					}
			};
			waiting.push(look);
			look();
		});
	const document = { uri, languageId, version: 1, text };
	return { pool, adapter, document, diagnostics, place, ...rest };
}

test.each(rows(["pyright", "typescript"], (name) => name === "pyright"))(
	"%s hovers, answers what is cancelled, finds mistakes, and does so again after it was killed in a call",
	async (server) => {
		const { pool, adapter, document, diagnostics, hover, at } =
			await opened(server);
		const worker = () => pool.workers()[0];
		const textDocument = { uri: document.uri };
		const ask = () =>
			pool.execute("textDocument/hover", { textDocument, position: at });
		expect(worker()?.facts).toMatchObject({
			capabilities: { hoverProvider: expect.anything() },
		});
		adapter.documents.open(document);

		const { signal, cancel } = cancellation();
		const call = pool
			.execute("workspace/symbol", { query: "a" }, { signal })
			.catch((error: unknown) => error);
		const hovered = ask();
		cancel();
		expect(await call).toMatchObject({ code: "CALL_ABORTED" });
		expect(JSON.stringify(await hovered)).toContain(hover);
		const first = worker();
		expect(await diagnostics(first?.incarnation)).toMatch(/int|number/);

		const context = { includeDeclaration: true };
		const killed = pool
			.execute("textDocument/references", {
				...{ textDocument, position: at, context },
			})
			.catch((error: unknown) => error);
		process.kill(first?.pid ?? 0, "SIGKILL");
		expect(await killed).toMatchObject({ code: "WORKER_EXITED" });
		expect(JSON.stringify(await ask())).toContain(hover);
		expect(worker()?.incarnation).not.toBe(first?.incarnation);
		expect(await diagnostics(worker()?.incarnation)).toMatch(/int|number/);
	},
);

function cancellation() {
	const controller = new AbortController();
	return { signal: controller.signal, cancel: () => controller.abort() };
}
