import { expect, test } from "vitest";
import {
	foreignHost,
	KEY_HEADER,
	Session,
} from "../../src/dash/dash-server.ts";
import { foreignOrigin } from "../../src/dash/page-answers.ts";

const PORT = 4_321;
const refusalOf = (
	method: string,
	headers: Record<string, string | undefined>,
) =>
	foreignHost(headers) ??
	foreignOrigin(method, headers, [`http://${headers["host"]}`]);
const OWN = {
	host: `127.0.0.1:${PORT}`,
	origin: `http://127.0.0.1:${PORT}`,
	"content-type": "application/json",
	"sec-fetch-site": "same-origin",
};

test.each([
	["GET", { host: OWN.host }],
	["GET", { host: `localhost:${PORT}`, "sec-fetch-site": "none" }],
	["GET", OWN],
	["POST", OWN],
	["POST", { ...OWN, host: "[::1]:1", origin: "http://[::1]:1" }],
])("%s of our page is answered: %o", (method, headers) => {
	expect(refusalOf(method, headers)).toBeUndefined();
});

test.each([
	["GET", { ...OWN, host: "evil.example" }, "FOREIGN_HOST"],
	["GET", { ...OWN, host: `evil.example:${PORT}` }, "FOREIGN_HOST"],
	["GET", { ...OWN, host: "127.0.0.1.evil.example" }, "FOREIGN_HOST"],
	["GET", { ...OWN, host: "localhost:1:2" }, "FOREIGN_HOST"],
	["GET", { ...OWN, host: "127.0.0.1:1" }, "FOREIGN_ORIGIN"],
	["GET", {}, "FOREIGN_HOST"],
	["GET", { ...OWN, origin: "http://evil.example" }, "FOREIGN_ORIGIN"],
	["GET", { ...OWN, origin: `http://localhost:${PORT}` }, "FOREIGN_ORIGIN"],
	["GET", { ...OWN, "sec-fetch-site": "cross-site" }, "FOREIGN_ORIGIN"],
	["GET", { ...OWN, "sec-fetch-site": "same-site" }, "FOREIGN_ORIGIN"],
	["POST", { ...OWN, origin: undefined }, "FOREIGN_ORIGIN"],
	["POST", { ...OWN, origin: "null" }, "FOREIGN_ORIGIN"],
	["POST", { ...OWN, "content-type": "text/plain" }, "NOT_JSON"],
] as const)("%s with %o is refused: %s", (method, headers, code) => {
	expect(refusalOf(method, headers)?.code).toBe(code);
});

test("the link opens one session, once; its cookie is for this port and no script, and needs the key", () => {
	const session = new Session(PORT);
	expect(session.open("f".repeat(64))).toBeUndefined();
	expect(session.open(undefined)).toBeUndefined();
	const header = session.open(session.token) ?? "";
	expect(header).toMatch(
		/^snakepit_4321=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=\/$/,
	);
	const [cookie = ""] = header.split(";");
	expect(cookie).not.toContain(session.token);
	const { key } = session;
	const includes = (headers: Record<string, string>) =>
		session.includes({ cookie, [KEY_HEADER]: key, ...headers });
	expect(includes({ cookie: `other=1; ${cookie}` })).toBe(true);
	expect(includes({ cookie: `${cookie}0` })).toBe(false);
	expect(includes({ cookie: `snakepit_4321=` })).toBe(false);
	expect(includes({ [KEY_HEADER]: `${key}0` })).toBe(false);
	expect(includes({ [KEY_HEADER]: "" })).toBe(false);
	expect(session.includes({ cookie })).toBe(false);
	expect(session.includes({ [KEY_HEADER]: key })).toBe(false);
	expect(session.includes({})).toBe(false);
	expect(session.open(session.token)).toBeUndefined();
});
