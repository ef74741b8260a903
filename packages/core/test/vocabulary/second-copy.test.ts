import { cpSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import * as adapter from "../../src/adapter.ts";
import * as index from "../../src/index.ts";
import { asBegun } from "../../src/pool/calls/call-errors.ts";
import {
	closedVirtualPool,
	outcome,
	overConnections,
} from "../pool/virtual-pool.ts";

const PACKAGE = join(import.meta.dirname, "../..");

const core = { ...index, ...adapter };
type Core = typeof core;
/** The same sources in another directory: other modules, other classes. */
let second: Core;
let copy: string;
beforeAll(async () => {
	copy = mkdtempSync(join(tmpdir(), "snakepit-copy-"));
	cpSync(join(PACKAGE, "src"), join(copy, "src"), { recursive: true });
	cpSync(join(PACKAGE, "package.json"), join(copy, "package.json"));
	symlinkSync(join(PACKAGE, "node_modules"), join(copy, "node_modules"));
	second = {
		...(await import(pathToFileURL(join(copy, "src/index.ts")).href)),
		...(await import(pathToFileURL(join(copy, "src/adapter.ts")).href)),
	};
});

afterAll(() => removeDirectory(copy));

const remote = {
	type: "ValueError",
	message: "no",
	traceback: "",
	notes: [],
	frames: [],
	cause: undefined,
};
const fields = { message: "m", ran: "no" } as const;

/** One error of each class, made by one copy. */
const MAKERS: Readonly<
	Record<string, (from: Core) => InstanceType<Core["SnakepitError"]>>
> = {
	OptionsError: (from) =>
		new from.OptionsError({ ...fields, code: "INVALID_OPTION" }),
	StartError: (from) =>
		new from.StartError({ ...fields, code: "SPAWN_FAILED" }),
	RegistryError: (from) =>
		new from.RegistryError({ ...fields, code: "REGISTRY_FULL" }),
	QueueError: (from) => new from.QueueError({ ...fields, code: "QUEUE_FULL" }),
	CallAbortedError: (from) =>
		new from.CallAbortedError({ ...fields, code: "CALL_ABORTED" }),
	CallTimeoutError: (from) =>
		new from.CallTimeoutError({ ...fields, code: "CALL_TIMEOUT" }),
	WorkerLostError: (from) =>
		new from.WorkerLostError({ ...fields, code: "WORKER_EXITED" }),
	InputError: (from) =>
		new from.InputError({ ...fields, code: "INVALID_ARGUMENTS" }),
	ToolError: (from) => new from.ToolError({ ...fields, remote }),
	ConnectionBrokenError: (from) => new from.ConnectionBrokenError(fields),
};

/** The classes of one copy of which `value` is an instance. */
function classesOf(from: Core, value: unknown): readonly string[] {
	return Object.entries(from)
		.filter(([name]) => name.endsWith("Error"))
		.filter(([, each]) => value instanceof (each as Core["SnakepitError"]))
		.map(([name]) => name)
		.sort();
}

test("the second copy is one: it shares no class with the first", () => {
	const classes = new Set<unknown>(Object.values(core));
	const shared = Object.entries(second).filter(
		([name, each]) => name in MAKERS && classes.has(each),
	);
	expect(shared).toEqual([]);
});

describe.each(Object.entries(MAKERS))("a %s of another copy", (name, make) => {
	test("is an instance of this class and of the base, and of no other", () => {
		const expected = [name, "SnakepitError"].sort();
		expect(classesOf(core, make(second))).toEqual(expected);
		expect(classesOf(second, make(core))).toEqual(expected);
		expect(classesOf(core, make(core))).toEqual(expected);
	});

	test("still is one after the pool noted that an earlier attempt began", () => {
		const error = asBegun(make(second) as InstanceType<Core["SnakepitError"]>);
		expect(error.ran).toBe("maybe");
		expect(classesOf(core, error)).toEqual([name, "SnakepitError"].sort());
	});
});

test("the base alone is no instance of what is derived from it", () => {
	const error = new second.SnakepitError({ ...fields, code: "TOOL_FAILED" });
	expect(classesOf(core, error)).toEqual(["SnakepitError"]);
});

test("a class that a program derives from ours has only its own instances", () => {
	class Mine extends core.InputError {}
	const mine = new Mine({ ...fields, code: "WRONG_SHAPE" });
	expect(mine).toBeInstanceOf(Mine);
	expect(classesOf(second, mine)).toEqual(["InputError", "SnakepitError"]);
	expect(MAKERS["InputError"]?.(core)).not.toBeInstanceOf(Mine);
	expect(MAKERS["InputError"]?.(second)).not.toBeInstanceOf(Mine);
});

test.each([
	undefined,
	null,
	"INVALID_ARGUMENTS",
	new Error("m"),
	{ name: "InputError", code: "INVALID_ARGUMENTS", ran: "no" },
])("%o is an instance of none", (value) => {
	expect(classesOf(core, value)).toEqual([]);
});

describe("in a pool of this copy, an adapter that has another", () => {
	/** What becomes of a call for which the adapter throws `error`. */
	async function failedWith(error: unknown) {
		const { life, pool, adapter, clock, close } = closedVirtualPool({});
		overConnections(adapter, () => ({ execute: () => Promise.reject(error) }));
		await Promise.all([life.open(), clock.advance(0)]);
		const failed = outcome(pool.execute("add", {}));
		await clock.advance(10_000); // A condemned worker ends.
		const failure = await failed;
		await close();
		return failure;
	}

	test("has its errors passed on as they are, with code and `ran`", async () => {
		const error = MAKERS["InputError"]?.(second);
		expect(await failedWith(error)).toEqual({
			kind: "error",
			code: "INVALID_ARGUMENTS",
			ran: "no",
			error,
		});
	});

	test("may report that its conversation broke: the worker is replaced", async () => {
		const error = new second.ConnectionBrokenError({
			ran: "maybe",
			message: "broken",
		});
		expect(await failedWith(error)).toMatchObject({ code: "WORKER_EXITED" });
	});
});
