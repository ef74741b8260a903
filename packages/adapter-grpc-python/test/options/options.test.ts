import { expect, test } from "vitest";
import {
	DEFAULTS,
	type PythonGrpcOptions,
	pythonGrpc,
} from "../../src/index.ts";

test.each<[string, unknown, RegExp]>([
	["INVALID_OPTION", { tools: "a.py", transport: "http" }, /"transport"/],
	["UNKNOWN_OPTION", { tools: "a.py", transprot: "grpc" }, /"transport"/],
	["INVALID_OPTION", undefined, /pythonGrpc: the options must be an object/],
	["INVALID_OPTION", {}, /pythonGrpc: "tools" must be a path/],
	[
		"UNKNOWN_OPTION",
		{ tools: "a.py", preload: { modules: [], module: "numpy" } },
		/pythonGrpc preload.*"module"/,
	],
])("%s at the door: %j", (code, options, message) => {
	expect(() => pythonGrpc(options as PythonGrpcOptions)).toThrow(
		expect.objectContaining({
			name: "OptionsError",
			code,
			ran: "no",
			message: expect.stringMatching(message),
		}),
	);
});

test("the transport may be undefined, which is the default", () => {
	const { transport, ...rest } = DEFAULTS;
	expect(["grpc", "framed"]).toContain(transport);
	expect(rest.maxMessageBytes).toBe(64 * 1024 * 1024);
	expect(pythonGrpc({ tools: "a.py", transport: undefined }).name).toBe(
		"grpc-python",
	);
});
