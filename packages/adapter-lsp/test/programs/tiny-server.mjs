// A language server with a single thread, as most are: it looks for a cancellation between two steps of its work.
import { closeSync } from "node:fs";

let lingering = null;
let buffer = Buffer.alloc(0);
const cancelled = new Set();
const documents = new Map();
let produced = 0;
let ids = 0;
const answers = new Map();

function send(message) {
	const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
	return process.stdout.write(
		Buffer.concat([
			Buffer.from(`Content-Length: ${body.length}\r\n\r\n`),
			body,
		]),
	);
}
const report = (token, value) =>
	send({ method: "$/progress", params: { token, value } });
const turn = () => new Promise(setImmediate);
const drained = () =>
	new Promise((resolve) => process.stdout.once("drain", resolve));
const fault = (code, message) => Object.assign(new Error(message), { code });

async function untilCancelled(id, step) {
	while (!cancelled.has(id)) await step();
	throw fault(-32800, "cancelled");
}

const requests = {
	initialize: ({ initializationOptions, workspaceFolders, capabilities }) => ({
		serverInfo: { name: "tiny", version: "1" },
		capabilities: {
			hoverProvider: true,
			experimental: { initializationOptions, workspaceFolders, capabilities },
		},
	}),
	shutdown: () => lingering,
	"tiny/echo": (params) => params,
	"tiny/environment": ({ name }) => process.env[name] ?? null,
	"tiny/fail": () => {
		throw Object.assign(fault(-32803, "on purpose"), { data: { line: 7 } });
	},
	"tiny/hang": (_, id) => untilCancelled(id, turn),
	"tiny/count": ({ to, partialResultToken, workDoneToken }) => {
		report(workDoneToken, { kind: "begin", title: "counting" });
		for (let n = 1; n <= to; n++) report(partialResultToken, n);
		return "counted";
	},
	"tiny/work": ({ workDoneToken, partialResultToken }) => {
		if (workDoneToken !== undefined)
			for (const value of [
				{ kind: "begin", title: "works", percentage: 0 },
				{ kind: "report", message: "half", percentage: 50 },
				{ kind: "report" },
				{ kind: "end", message: "done" },
			])
				report(workDoneToken, value);
		return { inParts: partialResultToken !== undefined };
	},
	"tiny/filler": ({ partialResultToken }, id) => {
		produced = 0;
		return untilCancelled(id, async () => {
			produced++;
			if (!report(partialResultToken, "x".repeat(1_000)))
				await Promise.race([drained(), turn()]);
			while (process.stdout.writableNeedDrain && !cancelled.has(id))
				await turn();
			await turn();
		});
	},
	"tiny/produced": () => produced,
	"tiny/garble": () => {
		process.stdout.write("this is no header\r\n\r\n");
		return null;
	},
	"tiny/flood": ({ bytes }) => "x".repeat(bytes),
	"tiny/mute": () => {
		closeSync(1);
		return new Promise(() => {});
	},
	"tiny/linger": () => {
		lingering = new Promise((resolve) => setTimeout(resolve, 300, null));
		return null;
	},
	"tiny/documents": () => Object.fromEntries(documents),
	"tiny/log": () => {
		send({
			method: "window/logMessage",
			params: { type: 2, message: "careful" },
		});
		send({ method: "tiny/news", params: { what: "announced" } });
		return null;
	},
	"tiny/ask": ({ method, params }) => {
		const id = `mine-${++ids}`;
		send({ id, method, params });
		return new Promise((resolve) => answers.set(id, resolve));
	},
	"tiny/askAndCancel": ({ method, params }) => {
		const asked = requests["tiny/ask"]({ method, params });
		send({ method: "$/cancelRequest", params: { id: `mine-${ids}` } });
		return asked;
	},
	"tiny/crash": () => process.exit(3),
};

const notifications = {
	exit: () => process.exit(0),
	"$/cancelRequest": ({ id }) => cancelled.add(id),
	"textDocument/didOpen": ({ textDocument: { uri, ...rest } }) =>
		documents.set(uri, rest),
	"textDocument/didChange": ({ textDocument, contentChanges }) => {
		const before = documents.get(textDocument.uri);
		const { version } = textDocument;
		let { text } = before;
		for (const { range, text: replacement } of contentChanges) {
			const lines = text.split("\n");
			const at = ({ line, character }) =>
				lines.slice(0, line).join("\n").length + (line > 0) + character;
			text = range
				? text.slice(0, at(range.start)) +
					replacement +
					text.slice(at(range.end))
				: replacement;
		}
		documents.set(textDocument.uri, { ...before, version, text });
	},
	"textDocument/didClose": ({ textDocument }) =>
		documents.delete(textDocument.uri),
};

async function take({ id, method, params, result, error }) {
	if (method === undefined) return answers.get(id)?.(error ?? result);
	if (id === undefined) return notifications[method]?.(params);
	if (!requests[method])
		return send({ id, error: { code: -32601, message: `no ${method}` } });
	try {
		send({ id, result: await requests[method](params ?? {}, id) });
	} catch ({ code, message, data }) {
		send({ id, error: { code: code ?? -32603, message, data } });
	}
}

process.stdin.on("data", (chunk) => {
	buffer = Buffer.concat([buffer, chunk]);
	for (;;) {
		const end = buffer.indexOf("\r\n\r\n");
		if (end === -1) return;
		const length = Number(/: (\d+)/.exec(buffer.toString("latin1", 0, end))[1]);
		if (buffer.length < end + 4 + length) return;
		const body = buffer.toString("utf8", end + 4, end + 4 + length);
		buffer = buffer.subarray(end + 4 + length);
		void take(JSON.parse(body));
	}
});
