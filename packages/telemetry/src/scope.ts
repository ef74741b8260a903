/** The name under which everything is told. */
export const SCOPE = "@snakepit/telemetry";
