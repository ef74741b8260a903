// `createRequire` is not called by name, because webpack would resolve its argument at build time.
import nodeModule from "node:module";
import { pathToFileURL } from "node:url";
import { InputError } from "@snakepit/core";
import { anyWorkingDirectory } from "@snakepit/core/adapter";
import { ValueNotTransferable } from "./value-not-transferable.ts";

interface Kind {
	readonly prototype: object;
}

/** The parts of the package apache-arrow that are used here. */
interface Arrow {
	readonly Table: Kind & (new (batches: readonly object[]) => object);
	readonly RecordBatch: Kind;
	tableFromIPC(bytes: Uint8Array): unknown;
	tableToIPC(table: object, type: "stream"): Uint8Array;
}

const TABLE = Symbol.for("apache-arrow/Table");
const BATCH = Symbol.for("apache-arrow/RecordBatch");

/** Whether a value is a table or a record batch, of any copy of apache-arrow. */
export function isArrow(value: object): boolean {
	return TABLE in value || BATCH in value;
}

/**
 * Returns the stream of Arrow's IPC format for a table or a record batch.
 *
 * @throws ValueNotTransferable when the copy of apache-arrow that it is from is not found.
 */
export function bytesOfTable(value: object): Uint8Array {
	// Another copy would write only columns of its own types correctly.
	for (const arrow of copiesOfArrow()) {
		if (isOf(arrow.Table, value)) return arrow.tableToIPC(value, "stream");
		if (isOf(arrow.RecordBatch, value))
			return arrow.tableToIPC(new arrow.Table([value]), "stream");
	}
	throw new ValueNotTransferable(
		"is a table of another copy of apache-arrow than @snakepit/adapter-python uses; install only one copy, or send tableToIPC(table) as bytes",
	);
}

/**
 * Returns the `Table` of a stream, over the same memory.
 *
 * @throws InputError `VALUE_NOT_TRANSFERABLE` if apache-arrow does not load or cannot read the bytes.
 */
export function tableOfBytes(bytes: Uint8Array): unknown {
	let problem: string;
	const [arrow] = copiesOfArrow();
	if (arrow === undefined)
		problem =
			'The value has a table, but the package "apache-arrow" cannot be loaded. Install it: npm install apache-arrow.';
	else if (!endsAsStream(bytes))
		// apache-arrow would return the rows before the cut.
		problem = `The value has a table of ${bytes.length} bytes that is not a complete stream in Arrow's IPC format.`;
	else
		try {
			return arrow.tableFromIPC(bytes);
		} catch (error) {
			problem = `The value has a table that apache-arrow cannot read: ${(error as Error).message}.`;
		}
	throw new InputError({
		code: "VALUE_NOT_TRANSFERABLE",
		ran: "maybe",
		message: problem,
		path: "$",
	});
}

/** Whether the last message is the end of a stream: a mark and a length of 0. */
function endsAsStream(bytes: Uint8Array): boolean {
	const end = Buffer.from(bytes.subarray(-8)).toString("hex");
	return end === "ffffffff00000000";
}

/** By its prototypes: `instanceof` is also true for tables of other copies. */
function isOf(kind: Kind, value: object): boolean {
	return Object.prototype.isPrototypeOf.call(kind.prototype, value);
}

/**
 * The installed copies of apache-arrow, the program's first: a program that uses `require` has a different copy than
 * one that uses `import`. They are loaded synchronously when they are needed, because values are read and written in
 * one step.
 */
function* copiesOfArrow(): Generator<Arrow> {
	const path = pathOfArrow();
	if (path === undefined) return;
	const required = path in require.cache;
	// The ES modules lie beside the CommonJS modules.
	const imported = path.replace(/\.js$/, ".mjs");
	for (const module of required ? [path, imported] : [imported, path])
		try {
			yield require(module) as Arrow;
		} catch {
			// A Node that cannot `require` ES modules.
		}
}

const require = nodeModule.createRequire(
	pathToFileURL(`${anyWorkingDirectory()}/`),
);

/** Searches beside this package (which has no place if it is part of a bundle), then beside the program. */
function pathOfArrow(): string | undefined {
	const [, program] = process.argv;
	const here: string | undefined = import.meta.url;
	for (const place of [here, program && pathToFileURL(program)])
		try {
			if (place) return nodeModule.createRequire(place).resolve("apache-arrow");
		} catch {
			// Not there.
		}
	return undefined;
}
