import { finished } from "node:stream";
import {
	type Failure,
	refusedBy,
	STDIO_DEFAULTS,
} from "@snakepit/adapter-stdio/adapter";
import { InputError } from "@snakepit/core";
import {
	type CallOptions,
	type CallProgress,
	ConnectionBrokenError,
	callAborted,
	type InputErrorCode,
	messageOf,
	type Pausable,
	stdioOf,
	type WorkerProcess,
} from "@snakepit/core/adapter";
import {
	type CancellationToken,
	CancellationTokenSource,
	createMessageConnection,
	type Disposable,
	ErrorCodes,
	ExitNotification,
	InitializedNotification,
	InitializeRequest,
	type InitializeResult,
	type LogMessageParams,
	type MessageConnection,
	MessageType,
	ProgressType,
	ResponseError,
	ShutdownRequest,
	type WorkDoneProgressBegin,
	type WorkDoneProgressEnd,
	type WorkDoneProgressReport,
} from "vscode-languageserver-protocol/node";
import type { DocumentStore } from "./documents.ts";
import { LimitedReader, LimitedWriter } from "./message-streams.ts";
import { foldersOf, initializeParams, type LspOptions } from "./options.ts";

/** The progress of a server with a request. */
type WorkDone =
	| WorkDoneProgressBegin
	| WorkDoneProgressReport
	| WorkDoneProgressEnd;

/** The report of a server about a request before its answer: a part of the result, or progress. */
export type LspPart =
	| { readonly kind: "result"; readonly value: unknown }
	| { readonly kind: "progress"; readonly value: WorkDone };

const MOST_CHARACTERS = 1_000;

/** Reads the reports about one request, in their order, as callers of any adapter get them. */
function progressReader(): (value: WorkDone) => CallProgress {
	let message = "";
	return (value) => {
		// A report without a message keeps the last message.
		message = value.message ?? (value.kind === "begin" ? value.title : message);
		const percentage = value.kind === "end" ? 100 : value.percentage;
		return {
			fraction:
				percentage === undefined
					? undefined
					: Math.min(Math.max(percentage / 100, 0), 1),
			message: message.slice(0, MOST_CHARACTERS),
		};
	};
}

const PROGRESS = new ProgressType<never>();
const LEVELS = {
	[MessageType.Error]: "error",
	[MessageType.Warning]: "warning",
	[MessageType.Info]: "info",
	[MessageType.Log]: "debug",
	[MessageType.Debug]: "debug",
} as const;

/** A conversation with one language server. */
export class LspConversation {
	/** The library's type; the library returns it as a `ProtocolConnection`. */
	readonly connection: MessageConnection;
	readonly output: Pausable;
	readonly #process: WorkerProcess;
	readonly #options: LspOptions;
	readonly #maxMessageBytes: number;
	readonly #writer: LimitedWriter;
	/** Aborts when the conversation ends: this stops the work for the server, and messages that are still to be sent. */
	readonly #open = new AbortController();
	#tokens = 0;
	#ended: string | undefined;

	constructor(
		process: WorkerProcess,
		options: LspOptions,
		documents: DocumentStore,
	) {
		const { stdin, stdout } = stdioOf(process);
		const { maxMessageBytes = STDIO_DEFAULTS.maxMessageBytes } = options;
		this.#process = process;
		this.#options = options;
		this.#maxMessageBytes = maxMessageBytes;
		this.output = stdout;
		this.#writer = new LimitedWriter(
			stdin,
			maxMessageBytes,
			(message) =>
				documents.concerns(message) ? documents.send(message) : undefined,
			(error) => this.#break(error),
		);
		this.connection = createMessageConnection(
			new LimitedReader(
				stdout,
				maxMessageBytes,
				(error) => this.#break(error),
				(text) => process.starting({ stray: text }),
			),
			this.#writer,
			this.#logger,
		);
		this.#serve();
		stdin.on("error", (error) => this.#break(error));
		this.connection.onDispose(() =>
			this.#break(new Error("its connection was disposed of")),
		);
		// The callback also runs if the output has already ended.
		finished(stdout, { writable: false }, () =>
			this.end("it has ended its output"),
		);
		void process.exited.then(() => this.end("it has ended"));
		this.connection.listen();
	}

	/** Prepares the server for its first call: initializes it and sends the open documents. */
	async initialize(documents: DocumentStore): Promise<InitializeResult> {
		const { connection } = this;
		this.#process.starting({ awaits: 'the answer to "initialize"' });
		const result = await connection.sendRequest(
			InitializeRequest.type,
			initializeParams(this.#options),
		);
		await connection.sendNotification(InitializedNotification.type, {});
		// Otherwise, a server that has ended meanwhile would stay in the list of servers that get the documents.
		this.#open.signal.throwIfAborted();
		const detach = documents.attach((message) => this.#writer.send(message));
		this.#writer.limitQueue();
		this.#open.signal.addEventListener("abort", detach, { once: true });
		return result;
	}

	/** Settles when the server has answered, even after an abort. */
	async request(
		method: string,
		params: unknown,
		{ signal, onProgress }: Pick<CallOptions, "signal" | "onProgress">,
		onPart?: (part: LspPart) => void,
	): Promise<unknown> {
		if (signal.aborted) throw callAborted(method, signal, "unused");
		if (this.#ended !== undefined)
			throw new ConnectionBrokenError({ ran: "no", message: this.#ended });
		const checked = transferable(method, params, this.#maxMessageBytes);
		const cancellation = new CancellationTokenSource();
		const cancel = () => cancellation.cancel();
		signal.addEventListener("abort", cancel, { once: true });
		const reports =
			onPart || onProgress ? this.#reports(onPart, onProgress) : undefined;
		try {
			const withTokens = reports ? { ...checked, ...reports.tokens } : checked;
			const { token } = cancellation;
			return await (withTokens === undefined
				? this.connection.sendRequest(method, token)
				: this.connection.sendRequest(method, withTokens, token));
		} catch (error) {
			throw signal.aborted && this.#ended === undefined
				? callAborted(method, signal, "free")
				: this.#translate(error, method);
		} finally {
			signal.removeEventListener("abort", cancel);
			reports?.[Symbol.dispose]();
		}
	}

	async leave(): Promise<void> {
		await this.connection.sendRequest(ShutdownRequest.type);
		await this.connection.sendNotification(ExitNotification.type);
		this.#process.stdin?.end();
	}

	/** Unanswered requests reject. */
	end(why: string): void {
		if (this.#ended !== undefined) return;
		this.#ended = why;
		this.#open.abort(new Error(why));
		this.connection.dispose();
	}

	#break(error: Error): void {
		if (this.#ended !== undefined) return;
		this.end(error.message);
		this.#process.broken(error);
	}

	/** Handlers of leases, which are those of single methods, take precedence. */
	#serve(): void {
		const { connection } = this;
		connection.onRequest((method, params, token) =>
			answerServer(
				this.#options,
				method,
				params,
				AbortSignal.any([signalOf(token), this.#open.signal]),
			),
		);
		connection.onNotification((method, params) => {
			if (method === "window/logMessage")
				this.#log(params as unknown as LogMessageParams);
			else this.#process.notify(method, params);
		});
		connection.onUnhandledProgress((params) =>
			this.#process.notify("$/progress", params),
		);
		connection.onError(([{ message }]) => this.#logger.warn(message));
	}

	/** Reports for one request, by its own tokens. A server may answer without parts even if parts are requested. */
	#reports(
		onPart: ((part: LspPart) => void) | undefined,
		onProgress: CallOptions["onProgress"],
	) {
		const listening: Disposable[] = [];
		const tokenOf = (take: (value: never) => void): string => {
			const token = `snakepit-${++this.#tokens}`;
			listening.push(this.connection.onProgress(PROGRESS, token, take));
			return token;
		};
		const progressOf = progressReader();
		const tokens = {
			...(onPart && {
				partialResultToken: tokenOf((value) =>
					onPart({ kind: "result", value }),
				),
			}),
			workDoneToken: tokenOf((value) => {
				onPart?.({ kind: "progress", value });
				void onProgress?.(progressOf(value));
			}),
		};
		return {
			tokens,
			[Symbol.dispose]: () => {
				for (const each of listening) each.dispose();
			},
		};
	}

	#translate(error: unknown, method: string): Error {
		if (error instanceof ResponseError && this.#ended === undefined)
			return refusedBy(error as Failure, method, "LSP error");
		return new ConnectionBrokenError({
			ran: "maybe",
			message: this.#ended ?? messageOf(error),
			cause: error,
		});
	}

	#log({ type, message }: LogMessageParams): void {
		this.#process.log({
			level: LEVELS[type] ?? "info",
			logger: "lsp",
			message,
			wallMs: Date.now(),
		});
	}

	/** Messages of the protocol's library. */
	get #logger() {
		const log = (type: MessageType) => (message: string) =>
			this.#log({ type, message });
		return {
			error: log(MessageType.Warning),
			warn: log(MessageType.Warning),
			info: log(MessageType.Info),
			log: log(MessageType.Log),
		};
	}
}

/** @throws InputError. */
function transferable(
	method: string,
	params: unknown,
	maxBytes: number,
): object | undefined {
	const refusal = (code: InputErrorCode, message: string, cause?: unknown) =>
		new InputError({
			code,
			ran: "no",
			message: `The params of "${method}" ${message}`,
			cause,
		});
	if (params === undefined) return undefined;
	if (typeof params !== "object" || params === null)
		throw refusal("INVALID_ARGUMENTS", "must be an object or a list.");
	let bytes: number;
	try {
		bytes = Buffer.byteLength(JSON.stringify(params));
	} catch (error) {
		throw refusal(
			"VALUE_NOT_TRANSFERABLE",
			`cannot be JSON: ${messageOf(error)}`,
			error,
		);
	}
	if (bytes > maxBytes)
		throw refusal(
			"MESSAGE_TOO_LARGE",
			`have ${bytes} bytes, more than ${maxBytes} (maxMessageBytes).`,
		);
	return params;
}

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
async function answerServer(
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
function signalOf(token: CancellationToken): AbortSignal {
	const controller = new AbortController();
	if (token.isCancellationRequested) controller.abort();
	else token.onCancellationRequested(() => controller.abort());
	return controller.signal;
}
