// A server that returns what it is sent.
import { createServer } from "node:http";

createServer((request, response) => {
	response.setHeader("content-type", "application/json");
	if (request.url === "/echo") request.pipe(response);
	else response.end("{}");
}).listen(process.argv[2]);
