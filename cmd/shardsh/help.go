package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

const (
	helpWidth  = 80 // fits every terminal
	helpIndent = 34 // of descriptions
)

func (env environment) printHelp() {
	fmt.Fprintf(env.stdout, `shardsh: a shell for sharded MongoDB clusters, with a mock cluster inside

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
`, subcommandUsage(), groupUsage(shellFlags(&commandLine{})))
}

// groupUsage lists options by section.
func groupUsage(groups []flagGroup) string {
	var text strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&text, "%s:\n", g.title)
		g.flags.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				text.WriteString(flagUsage(f))
			}
		})
		text.WriteByte('\n')
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// flagUsage returns the lines of one option. A name in backquotes at the
// beginning of its description stands for its value.
func flagUsage(f *pflag.Flag) string {
	form, about := "      --"+f.Name, f.Usage
	if f.Shorthand != "" {
		form = "  -" + f.Shorthand + ", --" + f.Name
	}
	if rest, ok := strings.CutPrefix(about, "`"); ok {
		value, rest, _ := strings.Cut(rest, "` ")
		about = rest
		if f.NoOptDefVal != "" {
			form += "[=" + value + "]"
		} else {
			form += " " + value
		}
	}
	lines := wrap(about, helpWidth-helpIndent)
	if len(form) >= helpIndent {
		return form + "\n" + indent(lines)
	}
	return fmt.Sprintf("%-*s", helpIndent, form) + strings.TrimLeft(indent(lines), " ")
}

func indent(lines []string) string {
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(strings.Repeat(" ", helpIndent) + line + "\n")
	}
	return text.String()
}

// wrap breaks a text between words.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}
