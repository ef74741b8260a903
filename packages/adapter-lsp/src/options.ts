import type { StdioOptions } from "@snakepit/adapter-stdio";
import { STDIO_CHECKS } from "@snakepit/adapter-stdio/adapter";
import {
	anObject,
	type Check,
	checkOptions,
	optional,
	wholeNumber,
} from "@snakepit/core/options";
import type { ClientCapabilities } from "vscode-languageserver-protocol/node";

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
	/** The limit for the text of all open documents, in bytes of UTF-8. @default 268 435 456 bytes (256 MiB) */
	readonly maxDocumentBytes?: number | undefined;
}

export const LSP_DEFAULTS = { maxDocumentBytes: 268_435_456 } as const;

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
	maxDocumentBytes: optional(wholeNumber(1_024, 2 ** 40)),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkLspOptions(options: unknown): void {
	checkOptions("lsp", options, LSP_CHECKS);
}

function isUri(value: unknown): boolean {
	return typeof value === "string" && URL.canParse(value);
}
