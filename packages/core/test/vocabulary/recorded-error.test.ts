import { expect, test } from "vitest";
import { placeIn, recordedError } from "../../src/contract/recorded-error.ts";

const frames = (...places: readonly string[]): string =>
	["Error: why", ...places.map((place) => `    at ${place}`)].join("\n");

test.each([
	[["charge (file:///srv/a%20b/pay.ts:12:7)"], "charge (/srv/a b/pay.ts:12:7)"],
	[["async Promise.all (index 0)", "/srv/pay.js:1:2"], "/srv/pay.js:1:2"],
	[["Object.<anonymous> (/srv/pay.js:1:2)"], "/srv/pay.js:1:2"],
	[
		["Timeout.tick [as _onTimeout] (/srv/p.js:1:2)"],
		"Timeout.tick (/srv/p.js:1:2)",
	],
	[
		[
			"emit (node:events:519:28)",
			"send (/srv/node_modules/express/lib/response.js:1:1)",
			"async pay (/srv/pay.js:3:4)",
		],
		"pay (/srv/pay.js:3:4)",
	],
	[
		["send (/srv/node_modules/express/lib/response.js:1:1)"],
		"send (/srv/node_modules/express/lib/response.js:1:1)",
	],
	[["start (/srv/node_modules/@snakepit/core/dist/index.js:1:1)"], undefined],
	[["emit (node:events:519:28)"], undefined],
	[
		[`${"a (".repeat(50_000)}`, "pay (/srv/pay.js:3:4)"],
		"pay (/srv/pay.js:3:4)",
	],
] as const)("the place of %j is the program's own", (places, expected) => {
	expect(placeIn(frames(...places))).toBe(expected);
});

test("an error in the text of a module has the place that Node prints above it", () => {
	const stack =
		"/srv/tools.js:3\n  let a = ;\n\nSyntaxError: Unexpected token\n    at wrap (node:internal/vm:1:2)";
	expect(placeIn(stack)).toBe("/srv/tools.js:3");
});

test("an error has its class, its code, and the messages of its causes, and none of it without bound", () => {
	class CardError extends Error {
		readonly code = "E_CARD";
	}
	const cause = new Error("reset", { cause: new TypeError("closed") });
	expect(recordedError(new CardError("refused", { cause }))).toMatchObject({
		...{ name: "CardError", code: "E_CARD" },
		message: "refused (cause: Error: reset) (cause: TypeError: closed)",
		at: expect.stringContaining("recorded-error.test.ts"),
	});
	const { message = "" } = recordedError(new Error("x".repeat(5_000_000)));
	expect(message.length).toBe(2_000);
	const endless = new Error("again");
	endless.cause = endless;
	expect(recordedError(endless).message).toBe("again");
});

test("the error of a failed start has its place in Python", () => {
	const message =
		"Worker a-0 could not start: KeyError: 'x'\nTraceback (most recent call last):\n  File \"/srv/tools.py\", line 4, in <module>\n    load()\n  File \"/usr/lib/python3.12/json/__init__.py\", line 9, in load\nKeyError: 'x'";
	const error = new Error(message);
	error.stack = `Error: ${message}\n    at x (/srv/node_modules/@snakepit/core/dist/a.js:1:1)`;
	expect(recordedError(error).at).toBe("<module> (/srv/tools.py:4)");
});

test.each([
	["a text", "thrown string", "a text"],
	[null, "thrown null", "null"],
	[undefined, "thrown undefined", "undefined"],
	[
		new Proxy(
			{},
			{
				get: () => {
					throw new Error("trap");
				},
			},
		),
		"Error",
		"a value that cannot be shown",
	],
])(
	"what is no error, %#, is described without harm",
	(thrown, name, message) => {
		expect(recordedError(thrown)).toEqual({
			...{ name, message, code: undefined, at: undefined },
		});
	},
);
