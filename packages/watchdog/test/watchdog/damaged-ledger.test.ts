import {
	mkdirSync,
	readdirSync,
	renameSync,
	rmSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rows } from "../../../../scripts/test-effort.ts";
import { allGone, hostUp, shell, temporaryDirectory } from "./hosts.ts";

const SLEEPS = "trap '' TERM; while :; do sleep 100000; done";

/** The files of the one run of a ledger: the database and what is beside it. */
function runFiles(dataDir: string): readonly string[] {
	const runs = join(dataDir, "runs");
	return readdirSync(runs)
		.filter((name) => /\.db(-journal)?$/.test(name))
		.map((name) => join(runs, name))
		.sort();
}

/** What becomes of a ledger while its host lives, and what the next start says of it. */
const DAMAGES: readonly {
	readonly what: string;
	readonly damage: (dataDir: string) => void;
	readonly said: "registry.set_aside" | "nothing";
}[] = [
	{
		what: "its files are overwritten",
		damage: (dataDir) => {
			for (const file of runFiles(dataDir))
				writeFileSync(file, Buffer.alloc(20_000, 0xa5));
		},
		said: "registry.set_aside",
	},
	{
		what: "its files are cut off",
		damage: (dataDir) => {
			for (const file of runFiles(dataDir)) truncateSync(file, 0);
		},
		said: "registry.set_aside",
	},
	{
		what: "its files are removed",
		damage: (dataDir) => {
			for (const file of runFiles(dataDir)) rmSync(file);
		},
		said: "nothing",
	},
	{
		what: "a directory has the name of its file",
		damage: (dataDir) => {
			const [file = ""] = runFiles(dataDir);
			renameSync(file, join(dataDir, "elsewhere"));
			mkdirSync(file);
		},
		said: "registry.set_aside",
	},
];

test.each(rows(DAMAGES, ({ what }) => what.endsWith("overwritten")))(
	"a ledger is no reason not to kill: $what, and the next start says $said",
	{ timeout: 60_000 },
	async ({ damage, said }) => {
		const dataDir = temporaryDirectory();
		const order = { dataDirs: [dataDir], commands: [shell(SLEEPS)] };
		const host = await hostUp(order);
		const { pid } = await host.event("protection.started");
		const { runId } = await host.event("run.started");
		damage(dataDir);
		host.kill();
		await allGone([...host.pids, pid]);

		const next = await hostUp(order);
		const reported = next.lines.flatMap((line) =>
			line.kind === "event" &&
			/set_aside|spared|settled/.test(line.event.type) &&
			JSON.stringify(line.event).includes(runId)
				? [line.event.type]
				: [],
		);
		expect(reported).toEqual(said === "nothing" ? [] : [said]);
	},
);
