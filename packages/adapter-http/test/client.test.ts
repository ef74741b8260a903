import { request } from "node:http";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { node, sharedPool } from "./pooled.ts";

const shared = sharedPool({ command: node("{socket}") });

describe("a client", () => {
	test("is a fetch for one worker", async () => {
		const { pool } = await shared();
		await pool.use(async ({ fetch, origin }) => {
			const response = await fetch("/echo", {
				method: "POST",
				body: JSON.stringify({ n: 1 }),
			});
			expect(response.headers.get("content-type")).toBe("application/json");
			expect(await response.json()).toEqual({ echoed: { n: 1 } });
			expect((await fetch(`${origin}/empty`)).status).toBe(204);
			const form = new FormData();
			form.set("a", "b");
			const sent = await fetch("/same", { method: "POST", body: form });
			expect(await sent.text()).toContain('name="a"');
			await expect(fetch("http://example.com/")).rejects.toThrow(
				"can reach only its worker at http://localhost",
			);
			const aborting = new AbortController();
			const endless = await fetch("/endless", {
				method: "POST",
				signal: aborting.signal,
			});
			const reader = endless.body?.getReader();
			await reader?.read();
			aborting.abort(new Error("enough"));
			await expect(
				(async () => {
					while (!(await reader?.read())?.done);
				})(),
			).rejects.toThrow("enough");
		});
	});

	test("is what the official client of OpenAI's interface takes", async () => {
		const { pool } = await shared();
		const words = await pool.use(async ({ fetch, origin }, { signal }) => {
			const baseURL = `${origin}/v1`;
			const openai = new OpenAI({ baseURL, apiKey: "none", fetch });
			const stream = await openai.chat.completions.create(
				{
					model: "local",
					messages: [{ role: "user", content: "one two" }],
					stream: true,
				},
				{ signal },
			);
			return await Array.fromAsync(
				stream,
				({ choices: [choice] }) => choice?.delta.content,
			);
		});
		expect(words).toEqual(["one", "two"]);
	});

	test("has the path of the socket, for code that connects itself", async () => {
		const { pool } = await shared();
		const status = await pool.use(
			({ socketPath }) =>
				new Promise((resolve) =>
					request({ socketPath, path: "/text" }, (response) => {
						response.resume();
						resolve(response.statusCode);
					}).end(),
				),
		);
		expect(status).toBe(200);
	});
});
