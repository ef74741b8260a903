import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { openPreloaded } from "../support/preloaded-pool.ts";
import { PYTHON } from "../support/pythons.ts";

/** A module that notices who imports it. */
const NEIGHBOUR = `
import posix
posix.write(2, b"imported the neighbour " + __name__.encode() + b"\\n")
raise RuntimeError("the neighbour " + __name__)
`;

/** They import nothing that is not built in. */
const TOOLS = `
import posix
import sys
from snakepit_bridge import current_call, progress, tool

@tool
def fails() -> None:
    try:
        {}["inner"]
    except KeyError as error:
        raise ValueError("outer") from error

@tool
async def fails_async() -> None:
    raise ValueError("outer")

@tool
def add(first: int, second: int = 0) -> int:
    return first + second

@tool
def returns(name: str):
    return {
        "tuple": (1, "two"),
        "set": {1},
        "integer": 1 << 90,
        "bytes": bytes(1 << 17),
        "object": [object()],
    }[name]

@tool
def counts():
    yield from range(3)

@tool
def asks() -> object:
    progress(0.5, "half")
    return current_call().host("answer")

@tool
def spins() -> None:
    while True:
        pass
`;

function standardModules(): readonly string[] {
	const script =
		"import sys, json; print(json.dumps(sorted(sys.stdlib_module_names)))";
	return JSON.parse(execFileSync(PYTHON, ["-c", script], { encoding: "utf8" }));
}

test("neither a preloaded parent nor its workers import for themselves what is beside the tools", async () => {
	const here = temporaryDirectory();
	const tools = join(here, "shop.py");
	for (const name of standardModules())
		writeFileSync(join(here, `${name}.py`), NEIGHBOUR);
	writeFileSync(tools, TOOLS);
	const { pool, events } = await openPreloaded(
		{ tools, hostFunctions: { answer: () => "answered" } },
		1,
	);
	expect(events.of("preload.unavailable")).toEqual([]);
	const everyAnswer = async (): Promise<void> => {
		for (const tool of ["fails", "fails_async"])
			await expect(pool.execute(tool)).rejects.toMatchObject({
				code: "TOOL_FAILED",
				remote: { traceback: expect.stringContaining(`in ${tool}`) },
			});
		await expect(pool.execute("add", ["1"])).rejects.toMatchObject({
			path: "$.first",
		});
		expect(await pool.execute("add", [1, 2])).toBe(3);
		expect(await pool.execute("returns", ["integer"])).toBe(2n ** 90n);
		for (const name of ["tuple", "set", "bytes"])
			await pool.execute("returns", [name]);
		await expect(pool.execute("returns", ["object"])).rejects.toMatchObject({
			code: "VALUE_NOT_TRANSFERABLE",
		});
		const counted: unknown[] = [];
		for await (const item of pool.stream("counts")) counted.push(item);
		expect(counted).toEqual([0, 1, 2]);
		expect(await pool.execute("asks", {}, { onProgress: () => {} })).toBe(
			"answered",
		);
		await expect(
			pool.execute("spins", {}, { timeoutMs: 200 }),
		).rejects.toMatchObject({ code: "CALL_TIMEOUT" });
	};
	await everyAnswer();
	await pool.recycle("all");
	await everyAnswer();
	await pool.close();
	const lines = events.of("worker.output").map(({ line }) => line);
	expect(lines.join("\n")).not.toContain("neighbour");
	expect(events.of("worker.exited").map(({ reason }) => reason)).toEqual([
		"recycled",
		"closed",
	]);
});

/** Modules of Python's that the bridge looks for in what the tools have imported. */
const OWN = [
	...["calendar", "dataclasses", "json", "logging", "multiprocessing"],
	...["pathlib", "re", "sqlite3", "tempfile", "token", "typing"],
];

test.each(["off", "tools"] as const)(
	"tools get their own modules with names of Python's, and the bridge Python's (preload: %s)",
	async (preload) => {
		const here = temporaryDirectory();
		const tools = join(here, "shop.py");
		for (const name of [...OWN, "enum"])
			writeFileSync(join(here, `${name}.py`), 'OWNER = "the tools"');
		const source = `import enum, ${OWN.join(", ")}
from snakepit_bridge import tool

@tool
def owners() -> dict:
    return {each.__name__: each.OWNER for each in (${OWN.join(", ")})}

@tool
def of_enum() -> str:
    return getattr(enum, "OWNER", "Python")

@tool
def fails() -> None:
    raise ValueError("on purpose")
`;
		writeFileSync(tools, source);
		const { pool, events } = await openPreloaded({ tools, preload }, 1);
		const owners = Object.fromEntries(OWN.map((name) => [name, "the tools"]));
		for (const _ of [1, 2]) {
			expect(await pool.execute("owners")).toEqual(owners);
			await expect(pool.execute("fails")).rejects.toMatchObject({
				remote: { traceback: expect.stringContaining("in fails") },
			});
		}
		// A parent has imported it before there is a search path of the tools.
		expect(await pool.execute("of_enum")).toBe(
			preload === "off" ? "the tools" : "Python",
		);
		await pool.close();
		expect(events.of("preload.unavailable")).toEqual([]);
		expect(events.of("worker.exited").map(({ reason }) => reason)).toEqual([
			"closed",
		]);
	},
);
