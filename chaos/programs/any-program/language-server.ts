import { spawn } from "node:child_process";
import { type LspOptions, lsp } from "@snakepit/adapter-lsp";
import {
	createProtocolConnection,
	type ProtocolConnection,
	type TextDocumentItem,
} from "vscode-languageserver-protocol/node";
import type { AnyProgram } from "./launcher.ts";
import { pooled } from "./pooled.ts";

type Server = LspOptions & { readonly command: readonly string[] };

/**
 * A server that has answered a question about a document: what it starts for that is there.
 *
 * @param busy a document that is larger than a pipe. It is asked about it, too, and has begun to read that.
 */
export function languageServer(
	name: string,
	server: () => Server,
	document: TextDocumentItem,
	busy?: TextDocumentItem,
): AnyProgram {
	return {
		name,
		usual: "`child_process.spawn` and vscode-languageserver-protocol",
		start: async (launcher) => {
			if (launcher.kind === "usual") {
				await ask(await connected(server()), document, busy);
				return;
			}
			const adapter = lsp({ ...server(), inheritEnv: "all" });
			const pool = await pooled(adapter, launcher);
			await pool.use((connection) => ask(connection, document, busy));
		},
	};
}

/** As an editor does it. */
async function connected({
	command,
	initializationOptions,
}: Server): Promise<ProtocolConnection> {
	const [executable = "", ...args] = command;
	const { stdin, stdout } = spawn(executable, args, {
		stdio: ["pipe", "pipe", "ignore"],
	});
	const connection = createProtocolConnection(stdout, stdin);
	connection.listen();
	await connection.sendRequest("initialize", {
		...{ processId: process.pid, rootUri: null, capabilities: {} },
		initializationOptions,
	});
	await connection.sendNotification("initialized", {});
	return connection;
}

async function ask(
	connection: ProtocolConnection,
	document: TextDocumentItem,
	busy: TextDocumentItem | undefined,
): Promise<void> {
	const open = (textDocument: TextDocumentItem) =>
		connection.sendNotification("textDocument/didOpen", { textDocument });
	const hover = ({ uri }: TextDocumentItem) =>
		connection.sendRequest("textDocument/hover", {
			textDocument: { uri },
			position: { line: 0, character: 0 },
		});
	await open(document);
	await hover(document);
	if (busy === undefined) return;
	await open(busy);
	hover(busy).catch(() => {});
}
