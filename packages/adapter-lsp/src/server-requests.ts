import {
	type CancellationToken,
	ErrorCodes,
	ResponseError,
} from "vscode-languageserver-protocol/node";
import { foldersOf } from "./initialize.ts";
import type { LspOptions } from "./options.ts";

/** Answers to the requests that a server may send to a program without an editor. */
const NEUTRAL: Readonly<
	Record<string, (params: unknown, options: LspOptions) => unknown>
> = {
	"workspace/configuration": (params) =>
		(params as { items: readonly unknown[] }).items.map(() => null),
	"workspace/workspaceFolders": (_, options) => foldersOf(options),
	"workspace/applyEdit": () => ({
		applied: false,
		failureReason: "This client does not apply edits.",
	}),
	"window/showDocument": () => ({ success: false }),
	"window/showMessageRequest": () => null,
	"window/workDoneProgress/create": () => null,
	"client/registerCapability": () => null,
	"client/unregisterCapability": () => null,
};
/** `workspace/semanticTokens/refresh` and the like: nothing was kept. */
const REFRESH = /^workspace\/\w+\/refresh$/;

/** Answers one request of a server. @throws ResponseError if the server asks for something that does not exist. */
export async function answerServer(
	options: LspOptions,
	method: string,
	params: unknown,
	signal: AbortSignal,
): Promise<unknown> {
	const { handlers = {} } = options;
	if (Object.hasOwn(handlers, method))
		return await handlers[method]?.(params, { signal });
	if (Object.hasOwn(NEUTRAL, method)) return NEUTRAL[method]?.(params, options);
	if (REFRESH.test(method)) return null;
	throw new ResponseError(
		ErrorCodes.MethodNotFound,
		`This client does not support ${method}.`,
	);
}

/** A signal that aborts when the server cancels its request. */
export function signalOf(token: CancellationToken): AbortSignal {
	const controller = new AbortController();
	if (token.isCancellationRequested) controller.abort();
	else token.onCancellationRequested(() => controller.abort());
	return controller.signal;
}
