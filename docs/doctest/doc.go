// Package doctest executes the examples in the documentation: every block of the README, of docs and of
// the other pages, commands as well as scripts. It compares their output with the pages. Its tests
// support these blocks:
//
//   - sh, bash: bash runs each command. It has to exit with 0, or with the code in a
//     comment after it ("# exit code 3"). Addresses such as mongodb://host:27017 are a
//     mock cluster of the block. Commands that do not end by themselves (serve, watch)
//     are stopped.
//   - js, ts: run in a shell on a mock. If the first line has a file name
//     ("// task.js"), the block is a file for later commands of the page. It also runs by
//     itself if no other block names the file.
//   - text: the output of the block before it or, if it begins with "$ ", commands with
//     their output; input lines follow the prompts of shardsh. A text that begins with a
//     prompt continues the last session of the page.
//   - json, yaml: are parsed; commands in "run" and "script" of YAML are run. A name in
//     the first line ("# policy.yaml") makes the block a file for later commands.
//   - go, python: are run.
//
// In comparisons, "…" matches any text, and on a separate line any lines. Durations, addresses and
// random ids are considered equal.
//
// Comments before a block, which are not visible on the page:
//
//	<!-- not run: reason -->             skips the block
//	<!-- not run "curl": reason -->      skips its lines that begin with this text
//	<!-- cluster: JavaScript -->         prepares the cluster from here on; "usual" is
//	                                     testdata/shop.js, which is also the default
//	<!-- cluster --mock=5: … -->         the same, with options of shardsh
//	<!-- before: … -->                   runs first: commands, or JavaScript before js
//	<!-- goes on -->                     the script continues the one before it
//	<!-- file: topology.json -->         the block is this file for later commands
//	<!-- with node -->                   the program is for Node and not for shardsh
package doctest
