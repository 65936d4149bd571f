package main

import (
	"fmt"
	"io"

	"shardsh/cmd/shardsh/cmdline"
)

func printHelp(to io.Writer) error {
	_, err := fmt.Fprintf(to, `shardsh: a shell for sharded MongoDB clusters, with a mock cluster inside

Usage:
  shardsh [options] [address] [script.js ...] [-- script arguments]
%s
Without an address the cluster is the embedded mock. An address is a
connection string (mongodb://...), host:port/db, or the name of a database on
this machine. A script is a file that exists, - for stdin, or a name that ends
in .js. Long options may be written with dashes, too: --tls-ca-file.

%s
Exit codes: 0 fine; 1 a script failed or the cluster can't be reached; 2 wrong
command line; 3 check found a collection that is not balanced; 130 Ctrl-C,
143 SIGTERM; n for quit(n) in a script.

Examples:
  shardsh --eval 'sh.listShards()'                 on the mock
  shardsh mongodb://host:27017/app report.js -- 7  a script and its argument
  shardsh --host h1 -u joe -p --tls app            asks for the password
  SHARDSH_PASSWORD=... shardsh h1:27017 -u joe --json --eval 'sh.status()'
`, subcommandUsage(), cmdline.Usage(shellFlags(&commandLine{})))
	return err
}
