import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import type { ProtocolConnection } from "vscode-languageserver-protocol/node";
import { temporaryDirectory } from "../../../scripts/test-data-directory.ts";
import { rows } from "../../../scripts/test-effort.ts";
import { testPool } from "../../../scripts/test-pool.ts";
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

const PUBLISHED = "textDocument/publishDiagnostics";

async function opened(server: keyof typeof FILES) {
	const { name, languageId, text, ...rest } = FILES[server];
	const place = temporaryDirectory();
	const file = join(place, name);
	writeFileSync(file, text);
	const uri = pathToFileURL(file).href;
	const adapter = lsp({
		...SERVERS[server],
		cwd: place,
		workspaceFolders: [pathToFileURL(place).href],
	});
	const { pool, events } = await testPool<LspRequests, ProtocolConnection>({
		adapter,
		callsPerWorker: 4,
		// A server answers a cancelled request when it gets to it, and it may load a project first.
		calls: { cancelGraceMs: 20_000 },
	});
	/** What the server of `worker` finds in the file, as soon as it has found something. */
	const diagnostics = async (worker: string | undefined) => {
		let found: readonly { message: string }[] = [];
		await events.waitFor(
			"worker.notified",
			({ incarnation, notification, data }) => {
				if (incarnation !== worker || notification !== PUBLISHED) return false;
				const published = data as { uri: string; diagnostics: typeof found };
				if (published.uri === uri) found = published.diagnostics;
				return found.length > 0;
			},
		);
		return found.map(({ message }) => message).join();
	};
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
