// Runs before each file of tests.
import { DEFAULTS } from "../packages/adapter-grpc-python/src/options.ts";
import { testWorkers } from "./test-workers.ts";

Object.assign(DEFAULTS, testWorkers());
