export type TemplateName = "plain" | "express" | "mcp";

/** What a new project can be, and the packages from elsewhere that it needs. */
export const TEMPLATES: Readonly<
	Record<TemplateName, Readonly<Record<string, string>>>
> = {
	plain: {},
	express: { express: "^5.3.0" },
	mcp: { "@modelcontextprotocol/sdk": "^1.32.2" },
};
