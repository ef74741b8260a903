import { developmentPython } from "./python-environment.ts";

developmentPython();
