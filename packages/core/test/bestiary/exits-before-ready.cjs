// Fails as a program does that cannot import what it needs.
console.error("ModuleNotFoundError: No module named 'torch'");
process.exitCode = 70;
