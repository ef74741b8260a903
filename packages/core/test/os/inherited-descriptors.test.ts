import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ListenerAddress } from "../../src/contract/launch.ts";
import type {
	InheritedDescriptor,
	Launcher,
	ProcessSpec,
	StartedProcess,
} from "../../src/contract/world.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";
import { launcher, plain, start } from "./launcher-bench.ts";

/** Writes to descriptor 4 in capitals what it reads from descriptor 3, which is how Chromium speaks. */
const CAPITALS = `
	const { Socket } = require("node:net");
	const output = new Socket({ fd: 4 });
	new Socket({ fd: 3 }).on("data", (data) => output.write(String(data).toUpperCase()));
`;
/** Serves one connection after the other at a descriptor, without a loop of events: says its pid. */
const SERVES = `
import os, socket, sys
server = socket.socket(fileno=int(sys.argv[1]))
server.setblocking(True)
while True:
    connection, _ = server.accept()
    connection.sendall(str(os.getpid()).encode())
    connection.close()
`;

const both = { 3: "stream", 4: "stream" } as const;
const given = (
	descriptors: Readonly<Record<number, InheritedDescriptor>>,
): Pick<ProcessSpec, "descriptors"> => ({
	descriptors: new Map(
		Object.entries(descriptors).map(([fd, what]) => [Number(fd), what]),
	),
});

/** The ways in which a program is executed. */
const ways: Readonly<
	Record<string, () => Promise<{ readonly launcher?: Launcher }>>
> = {
	directly: async () => ({}),
	...(process.platform === "linux" && {
		"by the launcher": async () => ({ launcher: await launcher() }),
	}),
};

async function served(
	kind: "path" | "loopback",
	fd: number,
	way: { readonly launcher?: Launcher },
): Promise<{
	readonly program: StartedProcess;
	readonly address: ListenerAddress;
}> {
	const path = kind === "path" ? join(temporaryDirectory(), "s") : undefined;
	const listener =
		way.launcher === undefined ? await machine.bindListener(path) : { path };
	const program = await start({
		...plain,
		executable: "python3",
		args: ["-c", SERVES, String(fd)],
		...given({ [fd]: listener }),
		...way,
	});
	onTestFinished(() => void program.signal("SIGKILL", "group"));
	const port = (await program.executed)?.get(fd) ?? 0;
	if ("path" in listener)
		return {
			program,
			address: path === undefined ? { host: "127.0.0.1", port } : { path },
		};
	listener.close();
	return { program, address: listener.address };
}

const ask = async (address: ListenerAddress): Promise<string> =>
	await text(connect(address));

describe.each(Object.entries(ways))(
	"a program that is executed %s",
	(_, way) => {
		test("speaks on the streams that it was given, each by its number", async () => {
			const program = await start({
				...plain,
				...{ executable: process.execPath, args: ["-e", CAPITALS] },
				...given(both),
				...(await way()),
			});
			onTestFinished(() => void program.signal("SIGKILL", "group"));
			const [input, output] = [program.streams.get(3), program.streams.get(4)];
			input?.write("there and back");
			const [data] = await once(output as NonNullable<typeof output>, "data");
			expect(String(data)).toBe("THERE AND BACK");
			expect(program.control).toBeUndefined();
		});

		test("accepts on the listeners that it was given, and no other process does", async () => {
			for (const kind of ["path", "loopback"] as const) {
				const { program, address } = await served(kind, 7, await way());
				expect(await ask(address)).toBe(String(program.identity.pid));
				program.signal("SIGKILL", "group");
				await program.exited;
				await expect(ask(address)).rejects.toMatchObject({
					code: "ECONNREFUSED",
				});
			}
		});
	},
);

test.runIf(process.platform === "linux")(
	"a launched program has what it was given, its lifeline, and nothing of the launcher's",
	async () => {
		const path = join(temporaryDirectory(), "s");
		const program = await start({
			...plain,
			executable: "sh",
			args: ["-c", "ls /proc/$$/fd"],
			...given({ 3: "stream", 9: { path }, 255: "stream" }),
			launcher: await launcher(),
		});
		const descriptors = (await text(program.stdout)).trim().split("\n");
		// Others may be inherited from what runs this test.
		expect(descriptors.map(Number).sort((a, b) => a - b)).toEqual(
			expect.arrayContaining([0, 1, 2, 3, 9, 255, 768, 769]),
		);
		expect(descriptors).not.toContain("256");
		expect(descriptors).not.toContain("4");
	},
);

test.runIf(process.platform === "linux")(
	"the path of a launched program's listener is for this user alone",
	async () => {
		const { address } = await served("path", 4, { launcher: await launcher() });
		const { path } = address as { readonly path: string };
		expect(statSync(path).mode & 0o777).toBe(0o600);
	},
);

test.runIf(process.platform === "linux")(
	"a launched program whose socket cannot listen is not executed, and the error says why",
	async () => {
		for (const [path, code] of [
			[join(temporaryDirectory(), "missing", "s"), "ENOENT"],
			[`/tmp/${"x".repeat(108)}`, "ENAMETOOLONG"],
		] as const) {
			const program = await start({
				...plain,
				...{ executable: "echo", args: ["ran"] },
				...given({ 5: { path: undefined }, 3: { path } }),
				launcher: await launcher(),
			});
			await expect(program.executed).rejects.toMatchObject({
				code: "SPAWN_FAILED",
				message: `Cannot start echo: a socket that launch() asks for cannot listen (${code}).`,
			});
			expect(await text(program.stdout)).toBe("");
		}
	},
);

test.runIf(process.platform === "linux")(
	"a launched program that cannot be executed says so above what it was given",
	async () => {
		const program = await start({
			...plain,
			executable: "no-such-program",
			...given({ ...both, 5: { path: undefined } }),
			launcher: await launcher(),
		});
		await expect(program.executed).rejects.toMatchObject({
			code: "SPAWN_FAILED",
			cause: { code: "ENOENT" },
		});
	},
);

describe("a bound listener", () => {
	test("takes connections before there is a program, and its path is for this user alone", async () => {
		const path = join(temporaryDirectory(), "s");
		const listener = await machine.bindListener(path);
		expect(listener.address).toEqual({ path });
		expect(statSync(path).mode & 0o777).toBe(0o600);
		listener.close();
		listener.close();
	});

	test("is at its path when this program has closed its copy, and at no other", async () => {
		const directory = temporaryDirectory();
		const listener = await machine.bindListener(join(directory, "s"));
		listener.close();
		expect(readdirSync(directory)).toEqual(["s"]);
	});

	test("whose path was removed meanwhile is closed all the same", async () => {
		const path = join(temporaryDirectory(), "s");
		const listener = await machine.bindListener(path);
		machine.remove([path]);
		listener.close();
		expect(existsSync(path)).toBe(false);
	});

	test("without a path has a port of its own, on the loopback only", async () => {
		const [one, other] = await Promise.all([
			machine.bindListener(),
			machine.bindListener(),
		]);
		expect(one.address).toEqual({
			host: "127.0.0.1",
			port: expect.any(Number),
		});
		expect(one.address).not.toEqual(other.address);
		for (const listener of [one, other]) listener.close();
		await expect(ask(one.address)).rejects.toMatchObject({
			code: "ECONNREFUSED",
		});
	});

	test("that cannot be made is a start error that says why", async () => {
		const directory = temporaryDirectory();
		await expect(
			machine.bindListener(join(directory, "x".repeat(110))),
		).rejects.toMatchObject({ code: "SOCKET_PATH_TOO_LONG" });
		await expect(
			machine.bindListener(join(directory, "missing", "s")),
		).rejects.toMatchObject({ code: "RUNTIME_DIRECTORY_UNWRITABLE" });
		const { status, stdout } = spawnSync(
			"sh",
			[
				"-c",
				'ulimit -n 64; exec "$@"',
				"sh",
				process.execPath,
				LACKS_DESCRIPTORS,
			],
			{ encoding: "utf8" },
		);
		expect([stdout, status]).toEqual(["OUT_OF_DESCRIPTORS\n", 0]);
	});
});

const LACKS_DESCRIPTORS = join(
	import.meta.dirname,
	"listeners-without-descriptors-program.ts",
);
