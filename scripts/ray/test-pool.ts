import { fork } from "node:child_process";
import { ForksPoolWorker, type PoolRunnerInitializer } from "vitest/node";
import { NAMESPACE, namespaceEnv, namespaceUnavailable } from "./namespace.ts";

/** A pool of Vitest whose workers run in a namespace of their own that has only loopback, where one can be made. */
export const namespacePool: PoolRunnerInitializer = {
	name: "namespace",
	createPoolWorker: (options) =>
		namespaceUnavailable() === undefined
			? new NamespaceWorker(options)
			: new ForksPoolWorker(options),
};

class NamespaceWorker extends ForksPoolWorker {
	override async start(): Promise<void> {
		const [execPath = "", ...words] = NAMESPACE;
		const child = fork(this.entrypoint, [], {
			env: { ...this.env, ...namespaceEnv() },
			execPath,
			execArgv: [...words, process.execPath, ...this.execArgv],
			stdio: "pipe",
			serialization: "advanced",
		});
		// Vitest forks its worker unless there is one.
		Object.assign(this, { _fork: child });
		await super.start();
	}
}
