import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeDirectory } from "../remove-directory.ts";
import { ClusterNode } from "./cluster-node.ts";
import { assertInside } from "./namespace.ts";

const HEAD = "127.0.0.2";
const PORT = 26_379;
/** The first line of `ray start` takes seconds: Ray imports much, and the machine may be busy. */
const JOIN_MS = 180_000;

export interface ClusterOptions {
	/** An interpreter whose environment has Ray. */
	readonly python: string;
	/** With the head. Default: 3. */
	readonly nodes?: number;
	/** Beside that of this process, for every process of Ray. */
	readonly env?: Readonly<Record<string, string>>;
}

/**
 * A Ray cluster on loopback addresses: 127.0.0.2, which is the head and stands for the machine of
 * the host, and further nodes from 127.0.0.3 on, each with one CPU.
 *
 * A further node stands for another machine: it has a pid namespace, and instead of `disk` it sees
 * a directory of its own. Disposing of the cluster ends and removes everything.
 */
export class Cluster implements AsyncDisposable {
	readonly address: string = `${HEAD}:${PORT}`;
	readonly options: ClusterOptions;
	/** What only the head sees: files for the host alone. Other machines have another directory there. */
	readonly disk: string;
	readonly #directory: string;
	readonly #nodes: ClusterNode[] = [];

	private constructor(options: ClusterOptions) {
		assertInside();
		this.options = options;
		// A short name, for there are sockets in it.
		this.#directory = mkdtempSync(join(tmpdir(), "r-"));
		this.disk = join(this.#directory, "m");
	}

	/** @throws Error when a node does not join; then nothing of the cluster is left. */
	static async start(options: ClusterOptions): Promise<Cluster> {
		const cluster = new Cluster(options);
		try {
			await cluster.#join([
				...["--head", `--port=${PORT}`, "--no-monitor"],
				...["--include-dashboard=false", `--temp-dir=${cluster.disk}/ray`],
			]);
			// One after the other: Ray gives each 30 s, which is little on a busy machine.
			while (cluster.nodes.length < (options.nodes ?? 3))
				await cluster.#join([`--address=${cluster.address}`]);
			return cluster;
		} catch (error) {
			await cluster[Symbol.asyncDispose]();
			throw error;
		}
	}

	/** In the order of their addresses; the first is the head. */
	get nodes(): readonly ClusterNode[] {
		return this.#nodes;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		const left = await Promise.all(this.#nodes.toReversed().map(endNode));
		removeDirectory(this.#directory);
		if (left.flat().length > 0)
			throw new Error(`Processes of Ray are left: ${left.flat().join("; ")}`);
	}

	async #join(words: readonly string[]): Promise<ClusterNode> {
		const isHead = this.#nodes.length === 0;
		const address = isHead ? HEAD : `127.0.0.${this.#nodes.length + 2}`;
		const own = isHead ? this.disk : join(this.#directory, address);
		mkdirSync(join(own, "tmp"), { recursive: true });
		const node = new ClusterNode(this.options.python, {
			address,
			disk: isHead ? [] : [own, this.disk],
			env: {
				...this.options.env,
				TMPDIR: join(this.disk, "tmp"),
				RAY_USAGE_STATS_ENABLED: "0",
				SNAKEPIT_TEST_NODE: own,
			},
			words: [
				...["start", ...words, `--node-ip-address=${address}`, "--num-cpus=1"],
				...["--object-store-memory=150000000", "--disable-usage-stats"],
				"--include-log-monitor=false",
			],
		});
		this.#nodes.push(node);
		await node.joined(JOIN_MS);
		return node;
	}
}

async function endNode(node: ClusterNode): Promise<readonly string[]> {
	await node.end();
	return node
		.processes()
		.map(({ pid, name }) => `${node.address}: ${pid} ${name}`);
}
