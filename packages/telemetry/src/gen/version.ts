/** The version of this package, in the instrumentation scope of what it exports. */
export const VERSION: string = "0.0.0";
