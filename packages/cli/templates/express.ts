import { createServer } from "node:http";
import { python } from "@snakepit/adapter-python";
import { createPool, InputError } from "@snakepit/core";
import express, { type ErrorRequestHandler } from "express";
import type { Tools } from "./tools.ts";

const pool = await createPool<Tools>({
	adapter: python({ tools: new URL("./tools.py", import.meta.url) }),
	size: 2,
	calls: { timeoutMs: 10_000 },
});

const app = express();
app.use((_request, response, next) => {
	// After a signal, a connection ends with its answer.
	if (!server.listening) response.set("Connection", "close");
	next();
});
app.use(express.json());

app.get("/greet/:name", async ({ params: { name } }, response) => {
	response.json(await pool.execute("greet", { name }));
});

app.post("/mean", async ({ body }, response) => {
	response.json(await pool.execute("mean", { numbers: body?.numbers }));
});

// Invalid input is the client's mistake. Everything else is a failure of the server.
const failed: ErrorRequestHandler = (error, _request, response, next) => {
	if (response.headersSent) return next(error);
	const status = error instanceof InputError ? 400 : (error.status ?? 500);
	response.status(status).json({ error: error.message });
};
app.use(failed);

const port = Number(process.env["PORT"] ?? 3000);
const server = createServer(app).listen(port, "127.0.0.1", () => {
	const address = server.address();
	const at = typeof address === "object" ? address?.port : address;
	console.log(`Listening on http://127.0.0.1:${at}`);
});

for (const signal of ["SIGINT", "SIGTERM"] as const)
	process.once(signal, () => {
		// The workers leave when the last request has its answer: after calls.timeoutMs at most.
		server.close(() => pool.close());
	});
