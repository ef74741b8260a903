import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../../..");
const pages = globSync(
	"{*.md,{docs,packages,apps,examples,bundles,chaos,bench,mutation,python}/**/*.md}",
	{
		cwd: ROOT,
		exclude: (path) => /(^|\/)(node_modules|\.[^/]+)(\/|$)/.test(path),
	},
);

/** The prose of a page: links in code are no links. */
function proseOf(page: string): string {
	return readFileSync(join(ROOT, page), "utf8").replaceAll(
		/^```.*?^```/gms,
		"",
	);
}

/** What GitHub calls a heading in an address. */
function anchorOf(heading: string): string {
	return heading
		.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
		.toLowerCase()
		.replaceAll(/[^\p{L}\p{N}\-_ ]/gu, "")
		.replaceAll(" ", "-");
}

function anchorsOf(page: string): readonly string[] {
	return [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
		anchorOf(heading),
	);
}

/** The links of a page that lead nowhere. */
function deadLinks(page: string): readonly string[] {
	const links = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(
		([, link = ""]) => link,
	);
	return links.filter((link) => {
		if (/^[a-z]+:/.test(link)) return false;
		const [path = "", anchor] = link.split("#");
		const target =
			path === "" ? page : normalize(join(dirname(page), decodeURI(path)));
		if (!existsSync(join(ROOT, target))) return true;
		if (anchor === undefined) return false;
		const isFolder = statSync(join(ROOT, target)).isDirectory();
		const text = isFolder ? join(target, "README.md") : target;
		return !anchorsOf(text).includes(anchor);
	});
}

test("every link from page to page leads to a file, and to a heading that it has", () => {
	expect(pages.length).toBeGreaterThan(30);
	expect(
		pages.flatMap((page) => deadLinks(page).map((link) => `${page}: ${link}`)),
	).toEqual([]);
});

test("every path of this repository that a page names is there", () => {
	const missing = pages.flatMap((page) =>
		[
			...proseOf(page).matchAll(
				/(?<![\w@/.-])(?:packages|python|docs|apps|bench|chaos|examples|scripts|proto)\/[\w\-./]*[\w/]/g,
			),
		]
			.map(([path]) => path)
			.filter((path) => !existsSync(join(ROOT, path)))
			.map((path) => `${page}: ${path}`),
	);
	expect(missing).toEqual([]);
});
