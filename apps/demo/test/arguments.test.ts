import { expect, test } from "vitest";
import { HELP, readArguments } from "../src/arguments.ts";

test("without flags the main job runs", () => {
	expect(readArguments([])).toEqual({ kind: "run", plain: false });
});

test("every flag that is read is in the help", () => {
	expect(readArguments(["--kill-host"])).toEqual({ kind: "kill_host" });
	expect(readArguments(["--plain"])).toEqual({ kind: "run", plain: true });
	expect(readArguments(["--help"])).toEqual({ kind: "help" });
	expect(readArguments(["-h"])).toEqual({ kind: "help" });
	const otlp = "http://127.0.0.1:4318";
	expect(readArguments(["--otlp", otlp])).toEqual({
		kind: "run",
		plain: false,
		otlp,
	});
	expect(readArguments([`--otlp=${otlp}/`, "--kill-host"])).toEqual({
		kind: "kill_host",
		otlp,
	});
	for (const flag of ["--kill-host", "--otlp URL", "--plain", "--help"])
		expect(HELP).toContain(flag);
});

test("the two dashes that pnpm hands on are no argument", () => {
	expect(readArguments(["--", "--kill-host"])).toEqual({ kind: "kill_host" });
});

test.each([
	["--kil-host"],
	["--plain=yes"],
	["--otlp"],
	["digits"],
	["--", "--", "--help"],
])(
	"%s is a mistake that is named, together with the flags there are",
	(...args) => {
		const request = readArguments(args);
		expect(request.kind).toBe("mistake");
		const { message } = request as Extract<typeof request, { kind: "mistake" }>;
		expect(message).toContain(args.at(-1)?.split("=")[0]);
		expect(message).toMatch(
			/There are --kill-host, --otlp URL, --plain and --help\.$/,
		);
		expect(message).not.toContain("\n");
	},
);

test("an --otlp that names no receiver is a mistake that says what to give", () => {
	const request = readArguments(["--otlp", "localhost"]);
	expect(request).toEqual({
		kind: "mistake",
		message:
			'--otlp takes the URL of an OTLP/HTTP receiver, such as http://127.0.0.1:4318, and "localhost" is no URL.',
	});
});
