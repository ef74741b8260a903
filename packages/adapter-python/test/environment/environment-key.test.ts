import { expect, test } from "vitest";
import {
	environmentKey,
	installArguments,
	readRequirement,
} from "../../src/environment/python-environment.ts";
import { VERSION } from "../../src/gen/version.ts";
import { bench, writeProject } from "../support/environments.ts";

test("other requirements are another environment, in whatever order they are named", () => {
	const { project } = bench();
	const interpreter = {
		executable: "/python",
		version: [3, 12, 0],
	} as const;
	const key = (...texts: string[]) =>
		environmentKey(texts.map(readRequirement), interpreter);
	expect(key("a", "b")).toBe(key("b", "a"));
	expect(key("a")).not.toBe(key("a", "b"));
	expect(environmentKey([], interpreter)).not.toBe(
		environmentKey([], { ...interpreter, version: [3, 13, 0] }),
	);
	const before = key(project);
	writeProject(project, "2.0");
	expect(key(project)).not.toBe(before);
	expect(key(`${project}[grpc]`)).not.toBe(key(project));
});

test("a directory with extras is installed editable, as one without", () => {
	const { project } = bench();
	const install = (text: string) => installArguments([readRequirement(text)]);
	expect(install(project)).toEqual(["--editable", project]);
	expect(install(`${project}[a, b]`)).toEqual([
		"--editable",
		`${project}[a, b]`,
	]);
	expect(install("numpy[a]>=2")).toEqual(["numpy[a]>=2"]);
});

test("the bridge by its name alone is the one of this release; with a version it is that one", () => {
	const release = VERSION.split(".", 2).join(".");
	const text = (requirement: string) => readRequirement(requirement);
	expect(text(" Snakepit_Bridge ")).toEqual({
		kind: "named",
		text: `snakepit-bridge==${release}.*`,
	});
	expect(text("snakepit-bridge[otel, numpy]")).toEqual({
		kind: "named",
		text: `snakepit-bridge[otel, numpy]==${release}.*`,
	});
	for (const other of ["snakepit-bridge>=0.1", "snakepit-bridge-tools", "x"])
		expect(text(other)).toEqual({ kind: "named", text: other });
});
