// What every bundler has to bring to run: all packages, a worker that is any program,
// Python workers over both transports, and protections whose programs are files.
import { once } from "node:events";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import { python } from "@snakepit/adapter-python";
import { createPool, InputError } from "@snakepit/core";
import { telemetry } from "@snakepit/telemetry";
import { watchdog } from "@snakepit/watchdog";

/** A worker that returns what it is sent. @type {import("@snakepit/core/adapter").Adapter} */
const cat = {
	name: "cat",
	launch: () => ({ executable: "cat", stdio: "adapter" }),
	connect: async ({ stdin, stdout }) => ({
		execute: async (_command, args) => {
			stdin.write(JSON.stringify(args));
			const [echo] = await once(stdout, "data");
			return JSON.parse(String(echo));
		},
		leave: async () => void stdin.end(),
		[Symbol.asyncDispose]: async () => {},
	}),
};

/** Asks each kind of pool once, and tells what came of it. */
export async function answers(tools, dataDir) {
	const protections = {};
	const shared = {
		size: 1,
		dataDir,
		instruments: [telemetry()],
		protections: [watchdog()],
		onEvent: (event) => {
			if (event.type === "protection.started")
				protections[event.protection] = "started";
			if (event.type === "protection.unavailable")
				protections[event.protection] = event.reason;
		},
	};
	const ask = async (adapter, command, args) => {
		const pool = await createPool({ ...shared, adapter });
		try {
			return await pool.execute(command, args);
		} catch (error) {
			const known = error instanceof InputError ? "InputError " : "";
			return known + (error.code ?? error.message);
		} finally {
			await pool.close();
		}
	};
	return {
		echo: await ask(cat, "echo", [42]),
		grpc: await ask(pythonGrpc({ tools }), "add", { a: 2, b: 3 }),
		framed: await ask(python({ tools }), "add", { a: 2n ** 70n, b: 1 }),
		refused: await ask(python({ tools }), "add", { a: "two", b: 3 }),
		protections,
	};
}

/** The answers as JSON, which has no big integers. */
export function asJson(results) {
	return JSON.stringify(results, (_name, value) =>
		typeof value === "bigint" ? String(value) : value,
	);
}
