import { createPool, InputError, type Pool } from "@snakepit/core";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { PlainDate, PlainDateTime, python } from "../../src/index.ts";
import { failureOf } from "../support/calls.ts";
import { scratch } from "../support/fake-python.ts";
import { PYTHON, toolsFile } from "../support/pythons.ts";
import type {
	RowArgument,
	RowResult,
	Tools,
} from "../tools/gen/python-types.ts";

async function open(): Promise<Pool<Tools>> {
	const pool = await createPool<Tools>({
		adapter: python({
			tools: toolsFile("python_types.py"),
			python: PYTHON,
			hostFunctions: { ask: (question) => question },
		}),
		size: 1,
		dataDir: scratch(),
	});
	onTestFinished(() => pool.close());
	return pool;
}

const id = () => fc.uuid();
const colour = () => fc.constantFrom("red" as const, "green" as const);
const size = () => fc.constantFrom(1 as const, 2 as const);
const float = () => fc.double({ noNaN: true });

/** Digits as Python writes them. */
const decimal = () =>
	fc
		.tuple(fc.bigInt(), fc.array(fc.nat(9), { maxLength: 6 }))
		.map(([whole, digits]) =>
			digits.length === 0 ? `${whole}` : `${whole}.${digits.join("")}`,
		);

/** A duration as Python writes it: no part is zero, or more than the next one holds. */
const duration = (mostDays = 999_999_998) =>
	fc
		.tuple(
			fc.constantFrom("", "-"),
			fc.nat(mostDays),
			...[23, 59, 59, 999_999].map((most) => fc.nat(most)),
		)
		.map(([sign, days, hours, minutes, seconds, micros]) => {
			const fraction = micros
				? `.${`${micros}`.padStart(6, "0").replace(/0+$/, "")}`
				: "";
			const time = [
				hours ? `${hours}H` : "",
				minutes ? `${minutes}M` : "",
				seconds || fraction ? `${seconds}${fraction}S` : "",
			].join("");
			if (!days && !time) return "PT0S";
			return `${sign}P${days ? `${days}D` : ""}${time && `T${time}`}`;
		});

const clock = () =>
	fc
		.tuple(fc.nat(23), fc.nat(59), fc.nat(59), fc.nat(999_999))
		.map(([hour, minute, second, micros]) => {
			const [h, m, s] = [hour, minute, second].map((n) =>
				`${n}`.padStart(2, "0"),
			);
			const fraction = micros ? `.${`${micros}`.padStart(6, "0")}` : "";
			return `${h}:${m}:${s}${fraction}`;
		});

const moment = () =>
	fc
		.date({
			min: new Date("0001-01-01T00:00:00Z"),
			max: new Date("9999-12-31T23:59:59.999Z"),
			noInvalidDate: true,
		})
		.map((date) => {
			const text = date.toISOString();
			return date.getTime() % 2 === 0
				? PlainDate.from(text.slice(0, 10))
				: PlainDateTime.from(text.slice(0, -1));
		});

const path = () =>
	fc
		.array(fc.stringMatching(/^[a-zß日 ]{1,8}$/), {
			minLength: 1,
			maxLength: 3,
		})
		.map((names) => names.join("/"));

const corner = () =>
	fc.record({ x: float(), y: float() }, { noNullPrototype: true });

const box = () =>
	fc.record(
		{
			corner: corner(),
			colour: fc.option(colour()),
			sizes: fc.dictionary(colour(), size(), { noNullPrototype: true }),
		},
		{ noNullPrototype: true },
	);

/** What is both: sent as it is received. */
const row = (): fc.Arbitrary<RowArgument & RowResult> =>
	fc.record(
		{
			colour: colour(),
			size: size(),
			access: fc.nat(3),
			decimal: decimal(),
			uuid: id(),
			path: path(),
			address: fc.ipV4(),
			wait: duration(),
			at: clock(),
			number: fc.record(
				{ re: float(), im: float() },
				{ noNullPrototype: true },
			),
			steps: fc.record(
				{
					start: fc.maxSafeInteger(),
					stop: fc.maxSafeInteger(),
					step: fc.integer({ min: 1 }),
				},
				{ noNullPrototype: true },
			),
			queue: fc.array(id(), { maxLength: 3 }),
			box: box(),
			boxes: fc.record(
				{
					items: fc.array(box(), { maxLength: 2 }),
					following: fc.option(
						fc.record(
							{
								items: fc.array(box(), { maxLength: 1 }),
								following: fc.constant(null),
								kind: fc.constant("boxes" as const),
							},
							{ noNullPrototype: true },
						),
					),
					kind: fc.constant("boxes" as const),
				},
				{ noNullPrototype: true },
			),
			place: fc.record(
				{ id: id(), floor: fc.integer({ min: -5 }) },
				{ noNullPrototype: true },
			),
			site: fc.constantFrom("https://a.example/b?c=d", "ftp://e.example/"),
			ratio: fc.float({ noNaN: true }),
			count: fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 }),
			moment: moment(),
			// numpy has 64 bits of microseconds.
			span: duration(106_751_990),
			kept: fc.record(
				{ value: corner(), past: fc.array(corner(), { maxLength: 2 }) },
				{ noNullPrototype: true, requiredKeys: ["value"] },
			),
			job: fc.record(
				{ wait: duration(), key: id() },
				{ noNullPrototype: true },
			),
			shape: fc.record(
				{ type: fc.constant("Shape" as const), outerEdge: decimal() },
				{ noNullPrototype: true },
			),
			model: fc.record(
				{
					id: id(),
					waits: fc.array(duration(), { maxLength: 2 }),
					colour: colour(),
				},
				{ noNullPrototype: true },
			),
			money: fc.nat().map((cents) => `${cents} ct`),
			either: fc.option(fc.oneof(decimal(), colour())),
		},
		{ noNullPrototype: true },
	);

test("every row of the table of types comes back from a worker as it was sent", {
	timeout: 120_000,
}, async () => {
	const pool = await open();
	await fc.assert(
		fc.asyncProperty(fc.array(row(), { maxLength: 3 }), async (rows) => {
			expect(await pool.execute("crossed", { rows })).toStrictEqual(rows);
		}),
		{ numRuns: 50 },
	);
});

test("chunks, input items and back-calls carry such types too", async () => {
	const pool = await open();
	const chunks = await Array.fromAsync(pool.stream("boxes", { count: 2 }));
	const box = { colour: "red", sizes: { green: 2 } };
	expect(chunks).toStrictEqual([
		{ corner: { x: 0, y: 0.5 }, ...box },
		{ corner: { x: 1, y: 0.5 }, ...box },
	]);

	const shapes = ["1.10", "2.2"].map((outerEdge) => ({
		type: "Shape",
		outerEdge,
	}));
	expect(await pool.execute("edges", {}, { input: shapes })).toBe("3.30");

	expect(await pool.execute("asked", { wait: "PT1M" })).toStrictEqual({
		wait: "PT1M",
		who: { x: 1, y: 2 },
	});
	expect(await pool.execute("sent", { value: "PT1M" })).toBe("'PT1M'");
});

test("what is not of the type is an InputError with its path", async () => {
	const pool = await open();
	// @ts-expect-error a number has no unit
	const wrong = await failureOf(pool.execute("asked", { wait: 60_000 }));
	expect(wrong).toBeInstanceOf(InputError);
	expect(wrong).toMatchObject({ code: "INVALID_ARGUMENTS", path: "$.wait" });
	expect(`${wrong}`).toContain("ISO 8601");
});

test("what an encoder or a decoder raises fails the call, and the worker stays", async () => {
	const pool = await open();
	const incarnations = () =>
		pool.workers().map(({ incarnation }) => incarnation);
	const before = incarnations();
	const errors = await Promise.all(
		[{ money: "closed" }, { money: "1 ct", cents: 2 }, { money: "much" }].map(
			(args) => failureOf(pool.execute("paid", args)),
		),
	);
	const paid = '"paid" failed on worker python-0:';
	expect(errors.map(String)).toEqual([
		`ToolError: ${paid} RuntimeError: the exchange is closed`,
		`ToolError: ${paid} ArithmeticError: less than nothing`,
		expect.stringMatching(/^InputError: .* \$\.money: not a valid Money: /),
	]);
	expect(await pool.execute("paid", { money: "3 ct", cents: 2 })).toBe("1 ct");
	expect(incarnations()).toEqual(before);
});
