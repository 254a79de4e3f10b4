#!/usr/bin/env node
// The `petstore` command of the npm package. Every Node.js can read this file: one that is too old for the
// next file gets one line instead of a syntax error.
'use strict';

var NODE_MAJOR_MIN = 20;
var version = process.versions.node;
var refusal =
  'petstore: Node.js ' + version + ' is too old; ' + NODE_MAJOR_MIN + ' or later is needed.';

if (parseInt(version, 10) >= NODE_MAJOR_MIN) {
  // `eval`, because an old Node.js cannot even read `import()`.
  eval("import('./petstore.js')");
} else {
  console.error(refusal);
  process.exitCode = 2;
}
