#!/usr/bin/env node
// Starts the CLI. Keep to syntax that an old Node understands, and import nothing: it must reach its sentence.

if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(
    "perdure needs Node 24 or newer; this is " +
      process.version +
      " (" +
      process.execPath +
      "). Install Node 24 or newer, or in a clone use npm's scripts and npx, which bring their own.",
  );
  process.exitCode = 1;
} else {
  import("../dist/cli/main.js").catch(function (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || !/bin.perdure\.js$/.test(error.message)) throw error;
    console.error("perdure is not built here: dist/cli/main.js is missing. Run: npm run build");
    process.exitCode = 1;
  });
}
