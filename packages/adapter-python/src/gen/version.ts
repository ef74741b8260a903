/** The version of this package, and of the bridge that belongs to it. */
export const VERSION: string = "0.0.0";
