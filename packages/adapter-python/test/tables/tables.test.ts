import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Pool } from "@snakepit/core";
import {
	Table,
	tableFromArrays,
	tableToIPC,
	vectorFromArray,
} from "apache-arrow";
import { beforeAll, describe, expect, test } from "vitest";
import { sharedTestPool, testPool } from "../../../../scripts/test-pool.ts";
import { NdArray, PlainDate, PlainDateTime, python } from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import type { Tools } from "./gen/tables.ts";
import { needsPython, PYTHON, tools } from "./tables-pool.ts";

describe.runIf(PYTHON)(`tables${needsPython}`, { timeout: 120_000 }, () => {
	const adapter = python({ tools, python: PYTHON ?? "python3" });
	const open = sharedTestPool<Tools>({ adapter });
	let pool: Pool<Tools>;
	beforeAll(async () => {
		({ pool } = await open());
	}, 120_000);

	test("cross both ways in messages, without shared memory", async () => {
		const { pool } = await testPool<Tools>({
			adapter: python({ tools, python: PYTHON ?? "", sharedMemory: "off" }),
		});
		const half = Float64Array.from({ length: 100_000 }, (_, i) => i / 2);
		const table = tableFromArrays({ half });
		const back = (await pool.execute("mirrored", [table])) as Table;
		expect(back).toBeInstanceOf(Table);
		expect(back.getChild("half")?.toArray()).toEqual(half);
	});

	test.each(["from_pandas", "from_polars", "from_pyarrow"] as const)(
		"%s arrives with every column, and the same table goes back",
		async (name) => {
			const table = await pool.execute(name);
			expect(table).toBeInstanceOf(Table);
			const column = (column: string): unknown[] =>
				Array.from(table.getChild(column) ?? []);
			expect(column("whole")).toEqual([1n, -2n, 3n]);
			expect(column("half")).toEqual([0.5, null, 2.5]);
			expect(column("text")).toEqual(["a", null, "ü"]);
			expect(column("flag")).toEqual([true, false, null]);
			expect(column("at")).toEqual([
				Date.UTC(2024, 1, 29),
				null,
				Date.UTC(2024, 2, 1),
			]);
			expect(column("kind")).toEqual(["x", "y", "x"]);
			expect(
				column("list").map((list) => list && Array.from(list as Iterable<1n>)),
			).toEqual([[1n], null, [2n, 3n]]);
			expect(await pool.execute("as_pyarrow", [table])).toBe(3);
			const names = table.schema.fields.map((field) => field.name);
			const polars = await pool.execute("as_polars", [table]);
			expect(polars).toEqual(["polars.dataframe.frame", ...names]);
			const pandas = await pool.execute("as_pandas", [table]);
			expect(pandas).toEqual(["pandas", ...names]);
		},
	);

	test("a record batch is a table with one batch, and a table is made one batch", async () => {
		const table = await pool.execute("from_batch");
		expect(table.batches).toHaveLength(1);
		const twice = table.concat(table);
		expect(await pool.execute("as_pyarrow", [twice, twice])).toBe(8);
		const batch = table.batches[0];
		expect(await pool.execute("kind_of", [batch])).toBe("pyarrow.lib.Table");
	});

	test("without an annotation a table arrives as pyarrow's, and comes back as it was", async () => {
		const table = tableFromArrays({
			numbers: new Float64Array([1, 2, 3]),
			words: ["a", "b", "a"],
		});
		expect(await pool.execute("kind_of", [table])).toBe("pyarrow.lib.Table");
		const back = await pool.execute("mirrored", [{ inside: [table] }]);
		const { inside } = back as { inside: [Table] };
		expect(inside[0].toArray().map(String)).toEqual(
			table.toArray().map(String),
		);
	});

	test("a table without rows and one without columns cross", async () => {
		const noRows = new Table({ n: vectorFromArray<never>([]) });
		for (const table of [noRows, new Table()]) {
			const back = (await pool.execute("mirrored", [table])) as Table;
			expect(back.numRows).toBe(0);
			expect(back.numCols).toBe(table.numCols);
		}
	});

	test("the index of a data frame is a column, and an index again", async () => {
		const table = await pool.execute("indexed");
		expect(Array.from(table.getChild("__index_level_0__") ?? [])).toEqual([
			"first",
			"second",
		]);
		expect(await pool.execute("index_of", [table])).toEqual([
			"first",
			"second",
		]);
	});

	test("tables of a stream keep their content when later ones arrive", async () => {
		const tables: Table[] = [];
		for await (const table of pool.stream("frames", { count: 8 }))
			tables.push(table);
		expect(tables.map((table) => table.numRows)).toEqual(Array(8).fill(50_000));
		for (const [i, table] of tables.entries())
			expect(new Set(table.getChild("n"))).toEqual(new Set([BigInt(i)]));
	});

	test("a large table goes through shared memory, and back", async () => {
		const table = (await pool.execute("rows", [200_000, false])) as Table;
		expect(table.numRows).toBe(200_000);
		const back = (await pool.execute("mirrored", [table])) as Table;
		expect(Buffer.compare(tableToIPC(back), tableToIPC(table))).toBe(0);
	});

	test.each([
		["objects", /column 'bad' of type object/],
		["mixed", /column 'bad' of type object/],
		["too large", /column 'bad' of type object/],
		["infinite", /column 'bad' of type object/],
		["index", /whose index Arrow cannot hold.*reset_index/],
		["twice", /two columns 'bad'/],
		["polars", /column 'bad' is of type Object/],
		["series", /pandas\.Series.*\.to_frame\(\)/],
		["lazy", /LazyFrame.*\.collect\(\)/],
		["chunked", /ChunkedArray.*\.to_pylist\(\)/],
		["nulls", /Int64Array.*no nulls; send \.to_pylist\(\)/],
		["texts", /StringArray.*send \.to_pylist\(\)/],
		["scalar", /Int64Scalar.*\.as_py\(\)/],
		["integers", /IntegerArray.*DataFrame with it as a column/],
	])("what Arrow refuses is an error: %s", async (what, problem) => {
		const error = await failureOf(pool.execute("refused", [what]));
		expect(error).toMatchObject({ message: expect.stringMatching(problem) });
		// The values of a column may be secret.
		expect(String(error)).not.toContain("secret");
	});

	test.each([
		["run ends", "RunEndEncoded"],
		["int128", "Unrecognized Int type"],
	])(
		"a type that apache-arrow does not know is an error with its message: %s",
		async (what, message) => {
			const error = await failureOf(pool.execute("refused", [what]));
			expect(error).toMatchObject({
				code: "VALUE_NOT_TRANSFERABLE",
				message: expect.stringContaining(message),
			});
		},
	);

	test("a polars column with a field named Object crosses", async () => {
		const table = await pool.execute("with_field_object");
		expect(String(table.getChild("n")?.get(0))).toBe('{"Object": 1}');
	});

	test("a caller with nothing but JSON writes a table as its schema says", async () => {
		const written = (rows: unknown) => [{ $table: rows } as never] as const;
		expect(
			await pool.execute("index_of", written([{ a: 1 }, { a: 2 }])),
		).toEqual(await pool.execute("index_of", [tableFromArrays({ a: [1, 2] })]));
		const error = await failureOf(pool.execute("index_of", written([1])));
		expect(error).toMatchObject({
			code: "INVALID_ARGUMENTS",
			message: expect.stringContaining("$table: must be an array of objects"),
		});
	});

	test("an argument that is not a table is refused, and the error says what is expected", async () => {
		const error = await failureOf(
			pool.execute("as_pandas", [[{ whole: 1 }] as never]),
		);
		expect(error).toMatchObject({
			code: "INVALID_ARGUMENTS",
			message: expect.stringContaining(
				"expected a table for pandas.DataFrame, got list; in TypeScript, send a Table of apache-arrow: tableFromJSON(rows)",
			),
		});
	});

	test("times of numpy and pandas arrive as arrays, dates and instants", async () => {
		const [array, durations, moment, day, instant, plain, span] =
			await pool.execute("times");
		const noon = BigInt(Date.UTC(2024, 1, 29, 12));
		expect(array).toStrictEqual(
			new NdArray(
				"datetime64[ms]",
				[3],
				new BigInt64Array([noon, noon + 1n, noon + 2n]),
			),
		);
		expect(durations).toStrictEqual(
			new NdArray("timedelta64[s]", [2], new BigInt64Array([1n, -(2n ** 63n)])),
		);
		expect(moment).toStrictEqual(
			PlainDateTime.from("2024-02-29T12:00:00.000001"),
		);
		expect(day).toStrictEqual(new PlainDate(2024, 2, 29));
		expect(instant).toStrictEqual(new Date("2024-02-29T11:00Z"));
		expect(plain).toStrictEqual(PlainDateTime.from("2024-02-29T12:00:00"));
		expect(span).toBe("PT1M30S");
		expect(await pool.execute("later", [array as NdArray])).toStrictEqual(
			[0, 1000, 2000].map((us) => new PlainDateTime(2024, 2, 29, 13, 0, 0, us)),
		);
		const wrong = pool.execute("later", [NdArray.from(new Float64Array(1))]);
		expect(String(await failureOf(wrong))).toContain("datetime64");
	});

	test("a tensor arrives as an array, and an array as the tensor of the annotation", async () => {
		const array = new NdArray("float32", [1, 2], new Float32Array([1, 2]));
		expect(await pool.execute("doubled", [array])).toStrictEqual(
			new NdArray("float32", [1, 2], new Float32Array([2, 4])),
		);
		expect(await pool.execute("of_complex")).toStrictEqual(
			new NdArray("complex128", [1, 1], new Float64Array([0, 1])),
		);
		const wrong = pool.execute("doubled", [[1, 2] as never]);
		expect(await failureOf(wrong)).toMatchObject({
			code: "INVALID_ARGUMENTS",
			message: expect.stringContaining("expected array_api_strict.Array"),
		});
	});

	test("without pyarrow a table is one of polars, or an error that says what to install", () => {
		const program = join(import.meta.dirname, "without_pyarrow.py");
		const { stdout } = spawnSync(PYTHON ?? "", [program], { encoding: "utf8" });
		const lines = stdout.split("\n");
		expect(lines[0]).toBe("polars.dataframe.frame.DataFrame");
		for (const line of lines.slice(1, 4))
			expect(line).toMatch(/needs pyarrow.*pip install pyarrow/);
		expect(lines).toHaveLength(5);
	});

	test("no library is imported for values that need none, and pyarrow alone for a table", () => {
		const stdout = execFileSync(PYTHON ?? "", [
			join(import.meta.dirname, "imported_libraries.py"),
		]);
		expect(String(stdout)).toBe("[]\n['pyarrow']\n");
	});

	test("the types of this folder are those of its tools", () => {
		const file = join(import.meta.dirname, "gen/tables.ts");
		const words = ["-m", "snakepit_bridge", "types", tools, "--check", file];
		const { status, stderr } = spawnSync(PYTHON ?? "", words, {
			encoding: "utf8",
		});
		expect(stderr).toBe("");
		expect(status).toBe(0);
	});

	test("the command line writes a table as rows, and reads one", () => {
		const value =
			'{"table": {"$table": [{"n": 1, "s": "a"}, {"n": null, "s": "b"}]}}';
		const words = ["-m", "snakepit_bridge", "call", tools, "mirrored"];
		const { stdout, stderr } = spawnSync(
			PYTHON ?? "",
			[...words, "--json", `{"value": ${value}}`],
			{ encoding: "utf8" },
		);
		expect(stderr).toBe("");
		expect(JSON.parse(stdout)).toEqual(JSON.parse(value));
	});
});
