export type TemplateName = "plain" | "express" | "mcp";

interface Packages {
	readonly dependencies: Readonly<Record<string, string>>;
	readonly devDependencies: Readonly<Record<string, string>>;
}

/** The kinds of new projects, and the third-party packages that each needs. */
export const TEMPLATES: Readonly<Record<TemplateName, Packages>> = {
	plain: { dependencies: {}, devDependencies: {} },
	express: {
		dependencies: { express: "^5.3.0" },
		devDependencies: { "@types/express": "^5.0.6" },
	},
	mcp: {
		dependencies: { "@modelcontextprotocol/sdk": "^1.32.2" },
		devDependencies: {},
	},
};

/** What checks the types of every project. */
export const TYPE_CHECK: Readonly<Record<string, string>> = {
	"@types/node": "^22.0.0",
	typescript: "^7.0.2",
};
