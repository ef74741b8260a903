import { basename } from "node:path";
import type {
	ClientCapabilities,
	InitializeParams,
	WorkspaceFolder,
} from "vscode-languageserver-protocol/node";
import { VERSION } from "./gen/version.ts";
import type { LspOptions } from "./options.ts";

/** The parameters of `initialize`. */
export function initializeParams(options: LspOptions): InitializeParams {
	const folders = foldersOf(options);
	return {
		// A server may check whether this program lives. It ends with the program in any case.
		processId: process.pid,
		clientInfo: { name: "snakepit", version: VERSION },
		rootUri: folders[0]?.uri ?? null,
		workspaceFolders: folders.length > 0 ? folders : null,
		capabilities: capabilitiesOf(options.capabilities),
		...(options.initializationOptions !== undefined && {
			initializationOptions: options.initializationOptions,
		}),
	};
}

/** Each is named after the last part of its path. */
export function foldersOf({
	workspaceFolders = [],
}: Pick<LspOptions, "workspaceFolders">): WorkspaceFolder[] {
	return workspaceFolders.map((uri) => ({
		uri,
		name: decodeURIComponent(basename(new URL(uri).pathname)) || uri,
	}));
}

function capabilitiesOf(given: ClientCapabilities = {}): ClientCapabilities {
	const text = ["markdown", "plaintext"] as const;
	return {
		workspace: { configuration: true, workspaceFolders: true },
		textDocument: {
			synchronization: {},
			publishDiagnostics: { versionSupport: true, relatedInformation: true },
			hover: { contentFormat: [...text] },
			completion: { completionItem: { documentationFormat: [...text] } },
			signatureHelp: {
				signatureInformation: { documentationFormat: [...text] },
			},
			documentSymbol: { hierarchicalDocumentSymbolSupport: true },
			definition: { linkSupport: true },
			codeAction: {
				codeActionLiteralSupport: { codeActionKind: { valueSet: [] } },
			},
		},
		window: { workDoneProgress: true },
		...given,
		// The positions in changes of documents are counted in these units.
		general: { ...given.general, positionEncodings: ["utf-16"] },
	};
}
