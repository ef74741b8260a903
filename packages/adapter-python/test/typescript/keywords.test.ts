import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { PYTHON } from "../support/pythons.ts";

const packages = join(import.meta.dirname, "../../..");

/** Reserved words, those of strict code, those of some contexts, and names with another meaning. */
const WORDS = `
	break case catch class const continue debugger default delete do else enum export extends false finally for function if
	import in instanceof new null return super switch this throw true try typeof var void while with
	implements interface let package private protected public static yield await arguments eval
	abstract accessor any as assert asserts async bigint boolean constructor declare defer from get global infer intrinsic is
	keyof module namespace never number object of out override readonly require satisfies set string symbol target type
	undefined unique unknown using prototype then toString valueOf hasOwnProperty`
	.trim()
	.split(/\s+/);

/** A tool, parameters, fields, keys, literals, classes, methods and attributes with each of the words as their name. */
const tools = (words: readonly string[]) => `
import dataclasses
import enum
import keyword
from typing import Literal, TypedDict

from typing_extensions import Unpack

from snakepit_bridge import Handle, tool

WORDS = ${JSON.stringify(words)}
PLAIN = [word for word in WORDS if not keyword.iskeyword(word)]
Fields = TypedDict("Fields", {word: int for word in WORDS})
Word = enum.Enum("Word", [(f"M{i}", word) for i, word in enumerate(WORDS)])


@tool
def fields(fields: Fields, **given: Unpack[Fields]) -> Fields:
    return fields


class Held: ...


for i, word in enumerate(WORDS):
    # Only a text is a name, whatever else Python takes there.
    parameter = word if word in PLAIN else "value"
    Made = dataclasses.make_dataclass(f"C{i}", [("x", int)])
    Made.__name__ = Made.__qualname__ = word
    Made.__module__ = __name__
    exec(
        f"def tool_{i}({parameter}: int, *more: int, value_of: Made | None = None) -> Made: ...\\n"
        f"tool_{i} = tool(name={word!r})(tool_{i})\\n"
        f"@tool\\n"
        f"def keyed_{i}(keyed: dict[Literal[{word!r}], Word]) -> dict[Literal[{word!r}], Word]: ...\\n"
        f"def method_{i}(self, {parameter}: int, second: str = '') -> int: ...\\n"
    )
    globals()[f"method_{i}"].__name__ = word
    setattr(Held, word, globals()[f"method_{i}"])


class Attributes: ...


Attributes.__annotations__ = {word: int for word in WORDS}


@tool
def held() -> Handle[Held]: ...


@tool
def attributes() -> Handle[Attributes]: ...
`;

/** What is written can be used: each tool is called by name and by position, and so is each method. */
const uses = (words: readonly string[], plain: ReadonlySet<string>) => `
import type { Handle } from "@snakepit/adapter-python";
import type { Attributes, Held, Tools } from "./tools.ts";

declare const tools: Tools;
declare const held: Handle<Held>;
declare const attributes: Handle<Attributes>;
const fields = tools.fields({ fields: { ${words.map((word) => `${quoted(word)}: 1`).join(", ")} }, ${words.map((word) => `${quoted(word)}: 1`).join(", ")} } as never);
${words
	.map((word, i) => {
		const parameter = plain.has(word) ? word : "value";
		return `
fields[${quoted(word)}] satisfies number | bigint;
tools.keyed_${i}({ keyed: { ${quoted(word)}: ${quoted(word)} } })[${quoted(word)}] satisfies string | undefined;
tools[${quoted(word)}]({ ${quoted(parameter)}: 1 }).x satisfies number | bigint;
tools[${quoted(word)}]([1, 2]);
// @ts-expect-error not what it takes
tools[${quoted(word)}](["1"]);
held.call(${quoted(word)}, [1]) satisfies Promise<number | bigint>;
held.call(${quoted(word)}, [1, "2"]);
// @ts-expect-error not what it takes
held.call(${quoted(word)}, ["1"]);
attributes.get(${quoted(word)}) satisfies Promise<number | bigint>;`;
	})
	.join("\n")}
`;

function quoted(word: string): string {
	return JSON.stringify(word);
}

test("the compiler takes each keyword as the name of a tool, a parameter, a field, a class, a method and an attribute", {
	timeout: 120_000,
}, () => {
	const directory = temporaryDirectory();
	const run = (program: string, args: readonly string[]) => {
		const { status, stdout, stderr } = spawnSync(program, args, {
			cwd: directory,
			encoding: "utf8",
		});
		expect(`${stdout}${stderr}`).toBe("");
		expect(status).toBe(0);
	};
	const taken = spawnSync(
		PYTHON,
		["-c", "import keyword; print(*keyword.kwlist)"],
		{ encoding: "utf8" },
	);
	const ofPython = taken.stdout.trim().split(" ");
	const plain = new Set(WORDS.filter((word) => !ofPython.includes(word)));
	writeFileSync(join(directory, "tools.py"), tools(WORDS));
	writeFileSync(join(directory, "uses.ts"), uses(WORDS, plain));
	writeFileSync(
		join(directory, "tsconfig.json"),
		JSON.stringify({
			extends: join(packages, "../tsconfig.base.json"),
			compilerOptions: {
				noEmit: true,
				typeRoots: [join(packages, "../node_modules/@types")],
				customConditions: ["snakepit-source"],
				paths: {
					"@snakepit/adapter-python": [
						join(packages, "adapter-python/src/index.ts"),
					],
				},
			},
			files: ["uses.ts"],
		}),
	);
	const types = ["-m", "snakepit_bridge", "types", "tools.py"];
	run(PYTHON, [...types, "--output", "tools.ts"]);
	run(join(packages, "../node_modules/.bin/tsc"), ["-p", directory]);
});
