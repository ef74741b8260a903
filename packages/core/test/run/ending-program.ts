/** A program that ends in the way that its second argument names; see program-end.test.ts. */
import { setTimeout as pause } from "node:timers/promises";
import { createPool } from "../../src/run/open-run.ts";

const [dataDir, how = ""] = process.argv.slice(2);

function opened(executable = "sleep") {
	return createPool({
		...{ dataDir, name: "naps", size: 1, heartbeat: "off", guard: "off" },
		output: { echo: "none" },
		start: { maxRestarts: 0 },
		adapter: {
			name: "sleeps",
			launch: () => ({ executable, args: ["1000"] }),
			connect: async ({ exited }) => {
				if (executable !== "sleep") await exited;
				return {
					execute: async () => undefined,
					[Symbol.asyncDispose]: async () => {},
				};
			},
		},
	});
}

class PaymentError extends Error {}

function charge(): never {
	throw new PaymentError("card 17 refused", {
		cause: new Error("no connection"),
	});
}

const forever = (): void => void setInterval(() => {}, 2 ** 30);
const ready = (): void => void process.stdout.write("ready\n");

const WAYS: Readonly<Record<string, () => Promise<unknown>>> = {
	async returns() {
		await using _pool = await opened();
	},
	async idle() {
		await opened();
	},
	async "sets an exit code"() {
		await using _pool = await opened();
		process.exitCode = 4;
	},
	async "gets a code at its exit"() {
		await opened();
		process.on("exit", () => {
			process.exitCode = 6;
		});
	},
	async exits() {
		await opened();
		process.exit(3);
	},
	async "exits well"() {
		await opened();
		process.exit();
	},
	async throws() {
		await opened();
		setTimeout(charge, 1);
		forever();
	},
	async "throws a text"() {
		await opened();
		setTimeout(() => {
			throw "no card";
		}, 1);
		forever();
	},
	async rejects() {
		await opened();
		void pause(1).then(charge);
		forever();
	},
	async "throws with its pool"() {
		await using _pool = await opened();
		charge();
	},
	async "fails to create a pool"() {
		await opened("/bin/false");
	},
	async "handles that and exits"() {
		await opened("/bin/false").catch(() => process.exit(9));
	},
	async "has a listener that exits"() {
		await opened();
		process.on("uncaughtException", () => process.exit(5));
		setTimeout(charge, 1);
		forever();
	},
	async "has a listener and goes on"() {
		await opened();
		process.on("uncaughtException", ready);
		setTimeout(charge, 1);
		forever();
	},
	async waits() {
		await opened();
		forever();
		ready();
	},
	async "waits with a listener"() {
		await opened();
		process.on("SIGTERM", () => process.exit(0));
		forever();
		ready();
	},
	async "never settles"() {
		await opened();
		await new Promise(() => {});
	},
	async aborts() {
		await opened();
		process.abort();
	},
};

await WAYS[how]?.();
