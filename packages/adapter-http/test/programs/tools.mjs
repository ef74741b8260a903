// The server of the adapter contract, on the Unix socket or the port of its argument, or where `LISTEN_FD` says.
import { createServer } from "node:http";

let produced = 0;
let connections = 0;
const line = `${JSON.stringify("x".repeat(65_536))}\n`;

async function textOf(request) {
	let text = "";
	for await (const chunk of request) text += chunk;
	return text;
}

function json(response, value, status = 200) {
	response.writeHead(status, { "content-type": "application/json" });
	response.end(JSON.stringify(value));
}

const closing = new WeakSet();
const ROUTES = {
	"HEAD /": (_request, response) => response.writeHead(404).end(),
	"POST /echo": async (request, response) =>
		json(response, { echoed: JSON.parse(await textOf(request)) }),
	"POST /fail": (_request, response) =>
		json(response, { detail: "on purpose" }, 500),
	// As uvicorn after an exception: it closes the connection, and no header says so.
	"POST /fail-last": (request, response) => {
		closing.add(request.socket);
		json(response, { detail: "on purpose" }, 500);
	},
	"GET /crash": () => process.exit(3),
	"POST /sleep": () => console.log("begun"),
	"POST /silent": (_request, response) => {
		console.log("begun");
		response.writeHead(200, { "content-type": "application/x-ndjson" });
		response.flushHeaders();
	},
	"POST /count": (_request, response) => {
		response.writeHead(200, { "content-type": "application/x-ndjson" });
		for (const n of [1, 2, 3]) response.write(`${JSON.stringify({ n })}\n`);
		response.end();
	},
	"POST /endless": (_request, response) => {
		response.writeHead(200, { "content-type": "application/x-ndjson" });
		const more = () => {
			do produced++;
			while (!response.destroyed && response.write(line));
		};
		response.on("drain", more);
		more();
	},
	"GET /connections": (_request, response) => json(response, connections),
	"GET /produced": (_request, response) => json(response, produced),
	"POST /garble": (request) => request.socket.write("this is no HTTP\r\n\r\n"),
	"POST /broken": (_request, response) => {
		response.writeHead(200, { "content-length": "1000" });
		response.write("{");
		setImmediate(() => response.destroy());
	},
	"POST /stray": (_request, response) => {
		console.log("not of the protocol");
		json(response, "answered");
	},
	"POST /mute": () => {
		server.close();
		server.closeAllConnections();
		setInterval(() => {}, 2 ** 30);
	},
	"POST /last": (_request, response) => {
		response.once("finish", () => process.exit(0));
		json(response, "x".repeat(200_000));
	},
	"POST /busy": (_request, response) => {
		response.writeHead(200, { "content-type": "application/x-ndjson" });
		response.write("1\n", () => {
			for (const until = Date.now() + 60_000; Date.now() < until; );
		});
	},
	"POST /closes": (_request, response) => {
		response.setHeader("connection", "close");
		server.close();
		json(response, "listens no more");
	},
	"POST /same": async (request, response) => {
		const chunks = await Array.fromAsync(request);
		response.writeHead(200).end(Buffer.concat(chunks));
	},
	"GET /text": (_request, response) => {
		response.writeHead(200, { "content-type": "text/plain" });
		const text = Buffer.from("grüezi");
		response.write(text.subarray(0, 3));
		setImmediate(() => response.end(text.subarray(3)));
	},
	"GET /slow": (_request, response) => {
		response.writeHead(200, { "content-type": "application/json" });
		setTimeout(() => response.write('"at '), 1_200);
		setTimeout(() => response.end('last"'), 2_400);
	},
	"GET /empty": (_request, response) =>
		response.writeHead(204, { "content-type": "application/json" }).end(),
	"GET /events": (_request, response) => {
		response.writeHead(200, { "content-type": "text/event-stream" });
		response.write("data: one\n\nevent: part\r");
		const rest =
			"\nid: 7\r\ndata: two\r\ndata: lines\r\n\r\n: note\n\ndata: cut";
		setImmediate(() => response.end(rest));
	},
	"POST /v1/chat/completions": async (request, response) => {
		const { messages } = JSON.parse(await textOf(request));
		response.writeHead(200, { "content-type": "text/event-stream" });
		for (const content of messages[0].content.split(" "))
			response.write(
				`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`,
			);
		response.end("data: [DONE]\n\n");
	},
	"GET /unlabelled": (_request, response) => response.end("1\n\n2"),
	"GET /large": (_request, response) => json(response, "x".repeat(2_000)),
	"GET /long-headers": (_request, response) =>
		response.writeHead(200, { "x-long": "x".repeat(20_000) }).end(),
	"GET /no-json": (_request, response) =>
		response
			.writeHead(200, { "content-type": "application/json" })
			.end("<html>"),
	"POST /fails-at-length": (_request, response) =>
		json(response, "x".repeat(1_000_000), 500),
	"GET /headers": (request, response) => json(response, request.headers),
	"GET /environment": (_request, response) =>
		json(response, Object.keys(process.env)),
	"POST /lines": async (request, response) =>
		json(response, (await textOf(request)).trim().split("\n").map(JSON.parse)),
};

const server = createServer((request, response) => {
	const { pathname } = new URL(request.url, "http://localhost");
	const route = ROUTES[`${request.method} ${pathname}`];
	if (closing.has(request.socket)) request.socket.destroy();
	else if (pathname.startsWith("/url/")) json(response, request.url);
	else if (route === undefined) json(response, { detail: "Not Found" }, 404);
	// A caller that goes away ends its request.
	else void (async () => route(request, response))().catch(() => {});
});
const [where = "0"] = process.argv.slice(2);
if (process.env.LISTEN_FD) server.listen({ fd: Number(process.env.LISTEN_FD) });
else if (where.startsWith("/")) server.listen(where);
else
	server.listen(Number(where), process.env.LISTEN_HOST ?? "127.0.0.1", () =>
		console.log(`listening on http://127.0.0.1:${server.address().port}`),
	);
server.on("connection", () => connections++);
process.once("SIGTERM", () => process.exit(0));
