import { expect, test } from "vitest";
import { HELP, readFlags } from "../src/flags.ts";

test("every flag that is read is in the help", () => {
	const otlp = "http://127.0.0.1:4318";
	expect(readFlags([])).toEqual({
		dash: false,
		killHost: false,
		otlp: undefined,
		plain: false,
		ray: false,
		svg: undefined,
		transport: "grpc",
		help: false,
	});
	expect(readFlags(["--kill-host", "--plain", "-h"])).toMatchObject({
		killHost: true,
		plain: true,
		help: true,
	});
	expect(
		readFlags([`--otlp=${otlp}/`, "--svg", "x.svg", "--transport=framed"]),
	).toMatchObject({
		otlp,
		svg: "x.svg",
		transport: "framed",
	});
	for (const flag of [
		"--dash",
		"--kill-host",
		"--otlp URL",
		"--plain",
		"--ray",
		"--svg FILE",
		"--transport T",
		"--help",
	])
		expect(HELP).toContain(flag);
});

test("the two dashes that pnpm passes on are ignored", () => {
	expect(readFlags(["--", "--kill-host"]).killHost).toBe(true);
});

test.each([
	["--kil-host"],
	["--plain=yes"],
	["--otlp"],
	["--transport=http"],
	["digits"],
	["--", "--", "--help"],
])("%s is an error that names it and all flags", (...args) => {
	const read = () => readFlags(args);
	expect(read).toThrow(args.at(-1)?.split("=")[0]);
	expect(read).toThrow(
		/^[^\n]*There are --dash, --kill-host, --otlp URL, --plain, --ray, --svg FILE, --transport T and --help\.$/,
	);
});
