// Package doctest runs what the pages show: every block of the README, of docs and of
// the other pages, commands as well as scripts, and compares what comes with what the
// page says. What its tests know of the blocks:
//
//   - sh, bash: each command is run by bash and has to end with 0, or with what a comment
//     behind it says ("# exit code 3"). Addresses such as mongodb://host:27017 are a mock
//     cluster of the block's own. What does not end by itself (serve, watch) is stopped.
//   - js, ts: run in a shell on a mock. A file with the name in the first line
//     ("// task.js") is left for later commands of the page, and run by itself if no other
//     block names it.
//   - text: what the block before it prints, or, where it begins with "$ ", commands and
//     what each prints; typed lines stand behind the prompts of shardsh. A text that
//     begins with a prompt goes on with the last session of the page.
//   - json, yaml: are read; commands in "run" and "script" of YAML are run. A name in the
//     first line ("# policy.yaml") leaves a file for later commands.
//   - go, python: are run.
//
// In what is compared "…" stands for anything, alone on a line for any lines; times that
// passed, addresses and ids made by chance are taken for equal.
//
// Comments before a block that no reader of the page sees:
//
//	<!-- not run: reason -->             the block is left out
//	<!-- not run "curl": reason -->      its lines that begin so are
//	<!-- cluster: JavaScript -->         what the cluster is furnished with, from here on;
//	                                     "usual" is testdata/shop.js, as before the first one
//	<!-- cluster --mock=5: … -->         with options of shardsh
//	<!-- before: … -->                   what happens first: commands, or JavaScript before js
//	<!-- goes on -->                     the script goes on where the one before it ended
//	<!-- file: topology.json -->         the block is this file for later commands
//	<!-- with node -->                   the program is for Node and not for shardsh
package doctest
