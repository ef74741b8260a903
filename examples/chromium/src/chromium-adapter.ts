import { finished } from "node:stream";
import { InputError } from "@snakepit/core";
import * as adapter from "@snakepit/core/adapter";
import * as playwright from "playwright-core";

/** Workers are Chromium browsers, each with a profile of its own. `pool.use` leases one; a command is one of DevTools. */
export function chromium(
	args: readonly string[] = [],
): adapter.Adapter<playwright.Browser> {
	return {
		name: "chromium",
		launch: ({ directory }) => ({
			executable: "chromium",
			args: [
				...["--headless", "--remote-debugging-pipe", "--no-first-run"],
				...[`--user-data-dir=${directory}/profile`, ...args],
			],
			inheritEnv: "minimal",
			descriptors: [3, 4].map((fd) => ({ fd, kind: "stream" })), // The pipe.
		}),
		connect: converse,
	};
}

async function converse(
	process: adapter.WorkerProcess,
): Promise<adapter.Connection<playwright.Browser>> {
	const browser = await playwright.chromium.connectOverCDP(
		devToolsPipe(process),
		{ timeout: 0 }, // Deadlines are the pool's.
	);
	const lost = (): void => process.broken(new Error("it closed its pipe"));
	browser.on("disconnected", lost);
	const devTools = await browser.newBrowserCDPSession();
	const execute = (command: string, args: unknown): Promise<unknown> =>
		devTools
			.send(command as never, args as never)
			.catch((error) => Promise.reject(translate(error, browser)));
	return {
		client: browser,
		facts: { version: browser.version() },
		execute,
		leave: async () => {
			browser.off("disconnected", lost);
			await execute("Browser.close", {});
		},
		[Symbol.asyncDispose]: async () => await browser.close(),
	};
}

/** Messages of JSON that end with a NUL. */
function devToolsPipe(
	process: adapter.WorkerProcess,
): playwright.ConnectOverCDPTransport {
	const transport: playwright.ConnectOverCDPTransport = {
		send: (message) =>
			void process.descriptor(3).write(`${JSON.stringify(message)}\0`),
		close: () => transport.onclose?.(),
	};
	const output = process.descriptor(4).setEncoding("utf8");
	// The callback also runs if the output has already ended.
	finished(output, { writable: false }, () => transport.onclose?.());
	let parts: string[] = [];
	output.on("data", (text: string) => {
		const [rest = "", ...next] = text.split("\0");
		parts.push(rest);
		for (const begin of next) {
			transport.onmessage?.(JSON.parse(parts.join("")));
			parts = [begin];
		}
	});
	return transport;
}

/** What is none of these is the error of a tool. */
function translate(cause: Error, browser: playwright.Browser): Error {
	const fields = { message: cause.message, cause };
	if (!browser.isConnected())
		return new adapter.ConnectionBrokenError({ ...fields, ran: "maybe" });
	if (!cause.message.includes("wasn't found")) return cause;
	return new InputError({ ...fields, ran: "no", code: "TOOL_NOT_FOUND" });
}
