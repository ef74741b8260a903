/** The version of this package, for the ledger. */
export const VERSION: string = "0.0.0";
