/** The instrumentation scope of everything that is exported. */
export const SCOPE = "@snakepit/telemetry";
