package main

import (
	"github.com/spf13/pflag"

	"shardsh/cmd/shardsh/cmdline"
)

// shellFlags returns the options of the shell itself.
func shellFlags(o *commandLine) []cmdline.Group {
	groups := []cmdline.Group{
		cmdline.NewGroup("Scripts", func(f *pflag.FlagSet) {
			f.StringArrayVar(&o.evals, "eval", nil, "`JAVASCRIPT` run this and print its result; repeat to add")
			f.StringArrayVarP(&o.files, "file", "f", nil, "`FILE` run this script; repeat to add (- is stdin)")
			f.BoolVar(&o.shell, "shell", false, "open the shell after --eval and the scripts")
			f.BoolVar(&o.interactive, "interactive", false, "be a shell on a pipe, too: with prompts, and going on after errors")
			f.StringArrayVar(&o.set, "set", nil, "`NAME=VALUE` define a global string; repeat to add")
			f.StringArrayVar(&o.setJSON, "setJSON", nil, "`NAME=EJSON` define any other global; repeat to add")
			f.Var(&o.timeout, "timeout", "`TIME` stop the run after 90, 30s, 5m")
			f.BoolVar(&o.compat, "compat", false, "helpers answer as those of the old mongo shell")
			f.BoolVar(&o.norc, "norc", false, "don't run ~/.shardshrc.js")
			f.BoolVar(&o.nodb, "nodb", false, "no cluster at all")
		}),
		cmdline.NewGroup("Output", func(f *pflag.FlagSet) {
			f.StringVar(&o.json, "json", "", "`canonical|relaxed` print the result as extended JSON")
			f.Lookup("json").NoOptDefVal = "canonical"
			f.BoolVar(&o.jsonl, "jsonl", false, "print the result as JSON, one document a line")
			f.IntVar(&o.limit, "limit", 0, "`N` print at most so many documents of a cursor")
			cmdline.ChoiceVar(f, &o.deepInspect, "deepInspect", "`true|false` print nested documents whole (true)")
			cmdline.ChoiceVar(f, &o.quietChoice, "quiet", "no banner, no notices")
			cmdline.ChoiceVar(f, &o.verbose, "verbose", "banner and notices for scripts, too")
			f.BoolVar(&o.skipStartupWarnings, "skipStartupWarnings", false, "don't show the server's startup warnings")
		}),
	}
	groups = append(groups, o.server.Flags()...)
	return append(groups,
		cmdline.NewGroup("Mock cluster", func(f *pflag.FlagSet) {
			f.StringVar(&o.mock, "mock", "", "`N|FILE` use the mock: number of shards, or a topology file")
			f.Lookup("mock").NoOptDefVal = mockGiven
			f.IntVar(&o.routers, "routers", 0,
				"`N` routers of the mock (1, or what the topology says); mock.status() names them")
			f.StringVar(&o.dbpath, "dbpath", "", "`DIR` keep the mock here, and go on with the one that is there")
			f.StringVar(&o.snapshot, "snapshot", "",
				"`FILE` play the cluster that shardsh snapshot put there, or go on with mock.save()'s")
			f.StringVar(&o.mockTime, "mock-time", "",
				"`real|virtual|60x` how time goes by: really, by jumps (scripts), or at a pace")
			f.Var(&o.serverVersion, "server-version",
				"`VERSION` release to behave like: 2.4, 3.4, 3.6, 4.0, 4.2, 4.4, 5.0, 6.0, 7.0, 8.0 (default), 8.1, 8.2, 8.3")
			f.StringToStringVar(&o.parameters, "set-parameter", nil, "`NAME=VALUE` set a server parameter; repeat to add")
			f.Var(&o.memory, "memory", "`SIZE` what the mock's commands may keep in memory (1GiB; 0: no limit)")
			f.Uint64Var(&o.seed, "seed", 0, "`N` runs with the same seed repeat exactly, from 2026-01-01 on")
		}),
		cmdline.NewGroup("Safety", func(f *pflag.FlagSet) {
			f.BoolVar(&o.readOnly, "read-only", false, "refuse every command that changes something")
			f.BoolVar(&o.dryRun, "dry-run", false, "print commands that change something, go on with a mock of the cluster")
			f.BoolVar(&o.confirm, "confirm", false, "ask before each command that changes something")
			transcriptFlag(f, &o.transcript)
			f.BoolVar(&o.sandbox, "sandbox", false,
				"scripts don't reach this machine: no files, environment, other hosts or programs")
			f.StringArrayVar(&o.allow.Read, "allow-read", nil, "`PATH` a file or directory they may read; repeat to add")
			f.StringArrayVar(&o.allow.Env, "allow-env", nil, "`NAME` a variable they may see; repeat to add")
			f.StringArrayVar(&o.allow.Net, "allow-net", nil, "`HOST` host or host:port they may connect to; repeat to add")
		}),
		cmdline.NewGroup("About", func(f *pflag.FlagSet) {
			f.BoolVarP(&o.help, "help", "h", false, "print this help")
			f.BoolVar(&o.version, "version", false, "print the version")
			f.BoolVar(&o.buildInfo, "buildInfo", false, "print how this program was built")
			f.BoolVar(&o.ipv6, "ipv6", false, "nothing: both kinds of addresses work")
			f.Lookup("ipv6").Hidden = true
		}))
}

func transcriptFlag(f *pflag.FlagSet, path *string) {
	f.StringVar(path, "transcript", "", "`FILE` add all that is sent to it, and the answers, as JSON lines")
}
