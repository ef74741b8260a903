// In a project that has installed Snakepit from npm only the first two lines are needed:
// here its packages are sources in TypeScript, whose types strip-types.mjs removes.
export default {
	testEnvironment: "node",
	testMatch: ["<rootDir>/jest/*.test.mjs"],
	extensionsToTreatAsEsm: [".ts"],
	moduleFileExtensions: ["mjs", "js", "ts", "json", "node"],
	testEnvironmentOptions: {
		customExportConditions: ["snakepit-source", "node"],
	},
	transform: { "\\.ts$": "<rootDir>/jest/strip-types.mjs" },
	transformIgnorePatterns: [],
};
