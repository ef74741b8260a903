import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { nativeBinary } from "../../src/os/launcher.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";
import { launcher, plain, start } from "./launcher-bench.ts";

/** Listens and never accepts: `ahead` connections wait already, and one more may. Ends while the program connects. */
const UNACCEPTING = `
	use Socket;
	my ($path, $ahead, @command) = @ARGV;
	socket(my $listener, AF_UNIX, SOCK_STREAM, 0) or die;
	bind($listener, sockaddr_un($path)) or die;
	listen($listener, 0) or die;
	my @waiting = map {
		socket(my $one, AF_UNIX, SOCK_STREAM, 0) or die;
		connect($one, sockaddr_un($path)) or die;
		$one;
	} 1 .. $ahead;
	my $pid = fork // die;
	if ($pid == 0) { setpgrp; exec { $command[0] } @command or die }
	# It sleeps in connect, which nothing ends but the end of the listener.
	my $where = "";
	until ($where =~ /^S/) {
		open(my $file, "<", "/proc/$pid/stat") or die;
		$where = readline($file) =~ s/^.*\\) //r;
	}
	close($listener);
	waitpid($pid, 0);
	print $? & 127, " ", $? >> 8, "\\n";
`;

/** Runs programs for arm64: of Debian's qemu-user, or its qemu-user-static. */
const EMULATOR = ["qemu-aarch64", "qemu-aarch64-static"].find(
	(name) => spawnSync(name, ["--version"]).status === 0,
);
if (EMULATOR === undefined)
	console.warn(
		"The native binary for arm64 is not tested: there is neither qemu-aarch64 nor qemu-aarch64-static here (apt install qemu-user).",
	);

describe.runIf(process.platform === "linux")("the native binary", () => {
	const run = (...args: readonly string[]) => {
		const { status, stderr } = spawnSync(nativeBinary() ?? "", args, {
			encoding: "utf8",
		});
		return [status, stderr.replace("snakepit-native: ", "")];
	};
	const usage =
		"usage: snakepit-native lifeline SOCKET [--report FD] [--listen FD PATH]... -- PROGRAM ARGS...\n";

	test.each([
		[["lifeline"]],
		[["lifeline", "/l"]],
		[["lifeline", "/l", "--"]],
		[["lifeline", "/l", "true", "--"]],
		[["lifeline", "/l", "--report"]],
		[["lifeline", "/l", "--report", "3"]],
		[["lifeline", "/l", "--report", "2", "--", "true"]],
		[["lifeline", "/l", "--report", "3x", "--", "true"]],
		[["lifeline", "/l", "--report", "-3", "--", "true"]],
		[["lifeline", "/l", "--report", "99999999999999999999", "--", "true"]],
		[["lifeline", "/l", "--listen", "3", "--", "true"]],
		[["lifeline", "/l", "--listen", "2", "/s", "--", "true"]],
		[["lifeline", "/l", "--listen", "3", "/s"]],
	])("refuses %j with its usage", (args) => {
		expect(run(...args)).toEqual([64, usage]);
	});

	test("writes the error to standard error if no report was requested", async () => {
		const { lifeline } = await launcher();
		const launch = (path: string, ...program: readonly string[]) =>
			run("lifeline", path, "--", ...program);
		expect(launch(lifeline, "no-such-program", "x")).toEqual([
			127,
			"cannot execute: no-such-program: No such file or directory\n",
		]);
		expect(launch(lifeline, "/tmp")).toEqual([
			126,
			"cannot execute: /tmp: Permission denied\n",
		]);
		expect(launch("/no/such/socket", "true")).toEqual([
			71,
			"cannot connect to the lifeline of the host: /no/such/socket: No such file or directory\n",
		]);
		const listen = ["--listen", "3", "/no/such/s", "--", "true"];
		expect(run("lifeline", lifeline, ...listen)).toEqual([
			73,
			"cannot listen: /no/such/s: No such file or directory\n",
		]);
		expect(run("lifeline", lifeline, "--report", "9", "--", "true")).toEqual([
			64,
			"the descriptor after --report is not open: Bad file descriptor\n",
		]);
	});

	test.each([
		["before the first connection", 1, "0 71\n"],
		["between the first, which the kernel watches, and the second", 0, "9 0\n"],
	])("executes nothing when the host ends %s", (_, ahead, ended) => {
		const path = join(temporaryDirectory(), "l");
		const program = ["lifeline", path, "--", "echo", "ran"];
		const { stdout } = spawnSync(
			"perl",
			[
				"-e",
				UNACCEPTING,
				path,
				String(ahead),
				nativeBinary() ?? "",
				...program,
			],
			{ encoding: "utf8" },
		);
		expect(stdout).toBe(ended);
	});

	test.runIf(EMULATOR !== undefined)(
		"for arm64 does the same, in an emulator",
		async () => {
			const path = join(temporaryDirectory(), "l");
			const listener = await machine.listenLifeline(path);
			onTestFinished(() => listener.close());
			const place = { platform: "linux", architecture: "arm64" };
			const launch = (...program: readonly string[]) =>
				start({
					...plain,
					executable: EMULATOR ?? "",
					args: [
						...[nativeBinary(place) ?? "", "lifeline", path, "--"],
						...program,
					],
				});
			const missing = await launch("no-such-program");
			expect(await missing.exited).toEqual({ kind: "code", code: 127 });
			const stopped = await launch("sh", "-c", "echo up; kill -STOP $$");
			onTestFinished(() => void stopped.signal("SIGKILL", "group"));
			expect(await stopped.stdout.take(1).toArray()).toHaveLength(1);
			listener.close();
			expect(await stopped.exited).toEqual({
				kind: "signal",
				signal: "SIGKILL",
			});
		},
	);
});
