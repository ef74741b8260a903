import { basename } from "node:path";
import type { StdioOptions } from "@snakepit/adapter-stdio";
import { STDIO_CHECKS } from "@snakepit/adapter-stdio/adapter";
import {
	anObject,
	type Check,
	checkOptions,
	optional,
} from "@snakepit/core/options";
import type {
	ClientCapabilities,
	InitializeParams,
	WorkspaceFolder,
} from "vscode-languageserver-protocol/node";
import { VERSION } from "./gen/version.ts";

/** Answers a request of a server. `signal` aborts when the server cancels it or the conversation ends. */
export type LspHandler = (
	// biome-ignore lint/suspicious/noExplicitAny: each method has its own parameters, which the protocol defines.
	params: any,
	context: { readonly signal: AbortSignal },
) => unknown;

/** How a language server is started, and what this program tells it. Also takes the options of `StdioOptions`. */
export interface LspOptions extends StdioOptions {
	/**
	 * The folders of the project, as URIs (`pathToFileURL(path).href`). The first one is also the root. None by default.
	 */
	readonly workspaceFolders?: readonly string[] | undefined;
	/** Server-specific settings for its initialization; see the server's documentation. */
	readonly initializationOptions?: unknown;
	/**
	 * The client capabilities, by group (`workspace`, `textDocument`, `window`, `general`): each replaces the default of
	 * that group.
	 */
	readonly capabilities?: ClientCapabilities | undefined;
	/**
	 * By method: handlers of the server's requests. Those without a handler get a neutral answer if the protocol has one,
	 * and are refused otherwise.
	 */
	readonly handlers?: Readonly<Record<string, LspHandler>> | undefined;
}

export const LSP_CHECKS: Readonly<Record<keyof LspOptions, Check>> = {
	...STDIO_CHECKS,
	workspaceFolders: optional((value) =>
		Array.isArray(value) && value.every(isUri)
			? undefined
			: "must be an array of URIs, as pathToFileURL(path).href makes them",
	),
	initializationOptions: () => undefined,
	capabilities: optional(anObject),
	handlers: optional(anObject),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkLspOptions(options: unknown): void {
	checkOptions("lsp", options, LSP_CHECKS);
}

function isUri(value: unknown): boolean {
	return typeof value === "string" && URL.canParse(value);
}

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

function capabilitiesOf(
	capabilities: ClientCapabilities = {},
): ClientCapabilities {
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
		...capabilities,
		// The positions in changes of documents are counted in these units.
		general: { ...capabilities.general, positionEncodings: ["utf-16"] },
	};
}
