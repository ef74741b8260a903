import { expect, test } from "vitest";
import { DEFAULTS, type RayPythonOptions, rayPython } from "../src/index.ts";
import { resolveOptions } from "../src/options.ts";

const tools = "tools.py";

test("what is left out has its default, and what does not hold on another machine is off", () => {
	const { cluster, python } = resolveOptions({ tools });
	expect(cluster).toEqual({
		address: DEFAULTS.address,
		resources: { ...DEFAULTS.resources, custom: {} },
		placement: DEFAULTS.placement,
		runtimeEnv: {},
		connection: { ...DEFAULTS.connection, tls: null },
	});
	expect(python).toEqual({
		tools,
		preload: "off",
		sharedMemory: "off",
		watch: false,
	});
});

test.each<[string, object, string]>([
	["UNKNOWN_OPTION", { sharedMemory: "off" }, "sharedMemory"],
	["UNKNOWN_OPTION", { cwd: "/" }, "cwd"],
	["UNKNOWN_OPTION", { resources: { cpu: 1 } }, "cpu"],
	["INVALID_OPTION", { resources: { CPU: -1 } }, "CPU"],
	["INVALID_OPTION", { resources: { custom: { disk: "1" } } }, "custom"],
	["INVALID_OPTION", { resources: null }, "resources"],
	["INVALID_OPTION", { placement: "anywhere" }, "placement"],
	["INVALID_OPTION", { placement: { node: "" } }, "placement"],
	["INVALID_OPTION", { placement: null }, "placement"],
	["INVALID_OPTION", { address: "" }, "address"],
	["INVALID_OPTION", { address: "ray://10.0.0.1:10001" }, "Ray Client"],
	["INVALID_OPTION", { connection: { keepAliveMs: 1 } }, "keepAliveMs"],
	["INVALID_OPTION", { connection: { tls: { ca: "/ca" } } }, "certificate"],
	["UNKNOWN_OPTION", { connection: { tls: { cert: "/c" } } }, "cert"],
])("%s for %j", (code, options, name) => {
	expect(() =>
		rayPython({ tools, ...options } as RayPythonOptions),
	).toThrowError(
		expect.objectContaining({ code, message: expect.stringContaining(name) }),
	);
});

test("a node, a part of a GPU, an own resource and own certificates are passed on", () => {
	const tls = { ca: "/ca.pem", certificate: "/c.pem", key: "/k.pem" };
	const { cluster } = resolveOptions({
		tools,
		resources: { CPU: 0, GPU: 0.5, custom: { disk: 2 } },
		placement: { node: "10.0.0.7" },
		connection: { tls },
	});
	expect(cluster).toMatchObject({
		resources: { CPU: 0, GPU: 0.5, custom: { disk: 2 } },
		placement: { node: "10.0.0.7" },
		connection: { tls },
	});
});
