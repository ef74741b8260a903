// Closes each connection after its response, and does not say so: no `Connection: close`.
import { createServer } from "node:net";

const [socketPath] = process.argv.slice(2);

createServer((socket) => {
	let received = "";
	socket.on("error", () => {});
	socket.on("data", (chunk) => {
		received += chunk;
		const head = received.indexOf("\r\n\r\n");
		if (head < 0) return;
		const [, length = "0"] =
			/content-length: (\d+)/i.exec(received.slice(0, head)) ?? [];
		const body = received.slice(head + 4);
		if (body.length < Number(length)) return;
		received = "";
		const text = body || "null";
		socket.end(
			`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
		);
	});
}).listen(socketPath);
