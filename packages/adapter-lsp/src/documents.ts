import {
	contentLengthFraming,
	STDIO_DEFAULTS,
} from "@snakepit/adapter-stdio/adapter";
import { InputError } from "@snakepit/core";
import {
	DidChangeTextDocumentNotification,
	type DidChangeTextDocumentParams,
	DidCloseTextDocumentNotification,
	type DidCloseTextDocumentParams,
	DidOpenTextDocumentNotification,
	type DidOpenTextDocumentParams,
	type Message,
	type NotificationMessage,
	type TextDocumentItem,
} from "vscode-languageserver-protocol/node";
import { TextDocument } from "vscode-languageserver-textdocument";

/**
 * The documents that are open in all workers of an adapter. A worker that is started later, for example after a crash,
 * gets their current text before its first call.
 */
export interface LspDocuments {
	/** Opens a document. @throws InputError if it is already open, or all have more than 256 MiB of text. */
	open(document: TextDocumentItem): void;
	/** Replaces the text of an open document, with the next version. @throws InputError if it is not open; otherwise as `open`. */
	change(uri: string, text: string): void;
	/** @throws InputError if it is not open. */
	close(uri: string): void;
	/** The URIs of the documents that are open. */
	uris(): readonly string[];
}

/** The limit for the text of all open documents, in bytes of UTF-8. */
const MOST_BYTES: number = 256 * 2 ** 20;

/** Sends a message to one server. */
export type Send = (message: Message) => Promise<void>;

const OPEN = DidOpenTextDocumentNotification.method;
const CHANGE = DidChangeTextDocumentNotification.method;
const CLOSE = DidCloseTextDocumentNotification.method;

export class DocumentStore implements LspDocuments {
	readonly #maxBytes: number;
	readonly #maxMessageBytes: number;
	readonly #documents = new Map<string, TextDocument>();
	readonly #servers = new Set<Send>();
	#bytes = 0;

	/** @param maxMessageBytes the limit of a message to a server: each document is one message. */
	constructor(
		maxMessageBytes: number = STDIO_DEFAULTS.maxMessageBytes,
		maxBytes: number = MOST_BYTES,
	) {
		this.#maxBytes = maxBytes;
		this.#maxMessageBytes = maxMessageBytes;
	}

	open(textDocument: TextDocumentItem): void {
		void this.send(notification(OPEN, { textDocument }));
	}

	change(uri: string, text: string): void {
		const version = this.#document(uri).version + 1;
		const textDocument = { uri, version };
		void this.send(
			notification(CHANGE, { textDocument, contentChanges: [{ text }] }),
		);
	}

	close(uri: string): void {
		void this.send(notification(CLOSE, { textDocument: { uri } }));
	}

	uris(): readonly string[] {
		return [...this.#documents.keys()];
	}

	/** Sends the open documents to one more server, and all changes from now on. Returns the function that stops this. */
	attach(send: Send): () => void {
		for (const document of this.#documents.values())
			void this.#sendTo(send, opening(document));
		this.#servers.add(send);
		return () => void this.#servers.delete(send);
	}

	/** Whether a message that a lease sends to its worker is about the shared documents. */
	concerns(message: Message): message is NotificationMessage {
		const { method } = message as Partial<NotificationMessage>;
		return method === OPEN || method === CHANGE || method === CLOSE;
	}

	/** Notes the change, and sends it to all servers. @throws InputError. */
	send(message: NotificationMessage): Promise<void> {
		this.#note(message);
		return Promise.all(
			[...this.#servers].map((send) => this.#sendTo(send, message)),
		).then(() => {});
	}

	/** A server that has ended misses the change: its successor gets the documents in their state at that time. */
	#sendTo(send: Send, message: Message): Promise<void> {
		return send(message).catch(() => {});
	}

	#note({ method, params }: NotificationMessage): void {
		if (method === OPEN) {
			const { uri, languageId, version, text } = (
				params as DidOpenTextDocumentParams
			).textDocument;
			if (this.#documents.has(uri)) throw refused(`${uri} is open already.`);
			this.#put(TextDocument.create(uri, languageId, version, text), 0);
		} else if (method === CHANGE) {
			const { textDocument, contentChanges } =
				params as DidChangeTextDocumentParams;
			const { uri, version } = textDocument;
			const before = this.#document(uri);
			const { languageId } = before;
			const copy = TextDocument.create(
				uri,
				languageId,
				version,
				before.getText(),
			);
			this.#put(
				TextDocument.update(copy, contentChanges, version),
				bytesOf(before),
			);
		} else {
			const { uri } = (params as DidCloseTextDocumentParams).textDocument;
			this.#bytes -= bytesOf(this.#document(uri));
			this.#documents.delete(uri);
		}
	}

	#document(uri: string): TextDocument {
		const document = this.#documents.get(uri);
		if (document === undefined)
			throw refused(
				`${uri} is not open (${this.#documents.size} other documents are). Open it first.`,
			);
		return document;
	}

	#put(document: TextDocument, bytesBefore: number): void {
		const bytes = this.#bytes - bytesBefore + bytesOf(document);
		if (bytes > this.#maxBytes)
			throw new InputError({
				code: "MESSAGE_TOO_LARGE",
				ran: "no",
				message: `With ${document.uri} the open documents would have ${bytes} bytes, more than ${this.#maxBytes}. Close some.`,
			});
		this.#requireOneMessage(document);
		this.#bytes = bytes;
		this.#documents.set(document.uri, document);
	}

	/** A server that did not receive it would answer as if the document were not open. */
	#requireOneMessage(document: TextDocument): void {
		// For most documents, this short check is enough.
		if (MOST_BYTES_OF_ONE * bytesOf(document) < this.#maxMessageBytes / 2)
			return;
		const message = JSON.stringify(opening(document));
		const bytes = contentLengthFraming.frame(message).length;
		if (bytes > this.#maxMessageBytes)
			throw new InputError({
				code: "MESSAGE_TOO_LARGE",
				ran: "no",
				message: `${document.uri} would be a message of ${bytes} bytes, more than ${this.#maxMessageBytes} (maxMessageBytes).`,
			});
	}
}

/** The longest form of a character in JSON: `\u0000`. */
const MOST_BYTES_OF_ONE = 6;

/** Opens a document in its current state. */
function opening(document: TextDocument): NotificationMessage {
	const { uri, languageId, version } = document;
	const text = document.getText();
	return notification(OPEN, {
		textDocument: { uri, languageId, version, text },
	});
}

/** Its URI counts too, so many empty documents cannot get round the limit. */
function bytesOf(document: TextDocument): number {
	return (
		Buffer.byteLength(document.uri) + Buffer.byteLength(document.getText())
	);
}

function notification(method: string, params: object): NotificationMessage {
	return { jsonrpc: "2.0", method, params } as NotificationMessage;
}

function refused(message: string): InputError {
	return new InputError({ code: "INVALID_ARGUMENTS", ran: "no", message });
}
