import { expect, test } from "vitest";
import { readArguments } from "../../src/observe/arguments.ts";

test("a flag that is the demo's is handed on", () => {
	expect(readArguments([])).toEqual({ kind: "observe", demoFlags: [] });
	expect(readArguments(["--", "--plain"])).toEqual({
		kind: "observe",
		demoFlags: ["--plain"],
	});
});

test("help is help, whatever else is asked for", () => {
	expect(readArguments(["--plain", "--help"])).toEqual({ kind: "help" });
});

test("the receiver is chosen by nobody else", () => {
	expect(readArguments(["--otlp", "http://127.0.0.1:4318"])).toEqual({
		kind: "mistake",
		message: expect.stringMatching(
			/^Unknown option '--otlp'\. There are --plain and --help\.$/,
		),
	});
});
