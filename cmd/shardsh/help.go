package main

import (
	"fmt"
	"io"
	"strings"

	"shardsh/cmd/shardsh/checkcmd"
	"shardsh/cmd/shardsh/cmdline"
)

const shellIntro = "shardsh: a shell for sharded MongoDB clusters, with a mock cluster inside"

// shellCommand returns the help of the shell itself, with all options.
func shellCommand(o *shellFlags, ask *helpFlags) cmdline.Command {
	return cmdline.Command{
		Arguments: "[options] [address] [script.js ...] [-- script arguments]",
		Text: cmdline.HelpText{
			Intro: shellIntro,
			Usage: []string{
				"shardsh [options] [address] [script.js ...] [-- script arguments]",
				"shardsh VERB [options] [address]",
			},
			Examples: []string{
				"shardsh --eval 'sh.listShards()'                 # on the mock",
				"shardsh mongodb://host:27017/app report.js -- 7  # a script and its argument",
				"shardsh --host h1 -u joe -p --tls app            # asks for the password",
				"shardsh check mongodb://host:27017",
			},
			More: `Without an address the cluster is the embedded mock. An address is a connection
string (mongodb://...), host:port/db, or the name of a database on this machine.
A script is a file that exists, - for stdin, or a name that ends in .js. Long
options may be written with dashes, too: --tls-ca-file.

Exit codes: 0 success; 1 a script failed or the cluster can't be reached; 2 wrong
command line; 3 check found something; 4 a policy refuses it; 130 Ctrl-C, 143 SIGTERM; n
for quit(n) in a script.`,
		},
		Groups: ask.addTo(o.groups()),
	}
}

// printTopHelp prints the output of --help without a subcommand: the list of subcommands.
func printTopHelp(to io.Writer) error {
	c := shellCommand(new(shellFlags), new(helpFlags))
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", shellIntro, strings.Join(c.Usage(), "\n  "))
	var names []string
	for _, s := range sections() {
		if s != sectionProgram {
			fmt.Fprintf(&b, "\n%s:\n", s)
		}
		for _, v := range verbs() {
			switch {
			case v.section != s:
			case s == sectionProgram:
				names = append(names, v.name)
			default:
				fmt.Fprintf(&b, "  %-12s %s\n", v.name, v.about)
			}
		}
	}
	fmt.Fprintf(&b, "\n%s: %s\n", sectionProgram, strings.Join(names, ", "))
	fmt.Fprintf(&b, `
Without an address it is the embedded mock. An address is mongodb://..., host:port, or a database:
  %s
All options: shardsh --help-all. More: shardsh help VERB|connection|fleet|mock|pace|consent|rules.
`, c.Text.Examples[1])
	_, err := io.WriteString(to, b.String())
	return err
}

// helpPages returns the help pages about options that many subcommands share.
func helpPages() map[string]string {
	return map[string]string{
		"connection": `How to reach a cluster: all verbs and the shell take these options.

An address is a connection string (mongodb://..., mongodb+srv://...), host:port/db,
or the name of a database on this machine. Options override the connection string.
The password is asked for, unless --passwordFile or the variable SHARDSH_PASSWORD
has it.

`,
		"mock": `The mock cluster: a sharded cluster inside the program, for trying things out. The
shell uses it without an address; the verbs take --mock, and some of them a few of
these options more. "shardsh serve" serves it to other programs.

`,
		"fleet": `A fleet: check, why, watch, report and snapshot ask all clusters of a file.

  defaults: {username: monitor, passwordFile: monitor.password}
  clusters:
    - name: shop-eu
      uri: mongodb://a.example.net:27017/?tls=true
      labels: {env: production, region: eu}
    - {name: saved, from: cluster.snap}

Each cluster has a line, the worst first; with --cluster, the whole answer for one.
The file has no passwords: passwordFile names a file that only you may read.

`,
		"pace": `The pace of moves: apply, balance, drain, defragment and presplit take these options.

A run ends at a limit, and the next one goes on. Steps begin only within the
window, and while the condition of --pause-when does not hold.

`,
		"consent": `Consent: the verbs that change a cluster, and the shell, take these options.

"shardsh plan" prints a hash; "shardsh apply --approve HASH" carries out that plan
and no other. "shardsh history" shows what was written down. Runs that name no
limits end after 1000 moves or 100GB.

A policy, in YAML or JSON, has the keys verbs, namespaces, hours, limits, defaults,
require-approval and audit. All policies count: /etc/shardsh/policy.json and
policy.yaml, that of SHARDSH_POLICY, and --policy. What they refuse ends with 4.

`,
		"rules": `The rules of "shardsh check", which "shardsh export" uses, too. "shardsh check
--help" lists them.

`,
	}
}

// printPage prints one of these pages.
func printPage(to io.Writer, page, intro string) error {
	var groups []cmdline.Group
	pace := new(paceFlags)
	all := append(new(shellFlags).groups(), new(fleetFlags).group(), pace.group(pace.addCoolDownFlag),
		new(traceFlags).group(), new(consentFlags).consentGroup())
	for _, g := range append(all, ruleGroups(new(checkcmd.Options))...) {
		if g.Page == page {
			groups = append(groups, g)
		}
	}
	_, err := io.WriteString(to, intro+cmdline.ListOptions(groups))
	return err
}
