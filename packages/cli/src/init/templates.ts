export type TemplateName = "plain" | "express" | "mcp";

/** The kinds of new projects, and the third-party packages that each needs. */
export const TEMPLATES: Readonly<
	Record<TemplateName, Readonly<Record<string, string>>>
> = {
	plain: {},
	express: { express: "^5.3.0" },
	mcp: { "@modelcontextprotocol/sdk": "^1.32.2" },
};
