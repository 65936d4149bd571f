package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/bindings/sandbox"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// shellFlags are the flags of the shell itself.
type shellFlags struct {
	clusterFlags
	commonFlags
	scriptFlags
	resultFlags
	noticeFlags
	safetyFlags
	sandboxFlags

	args     []string // script arguments, after --
	warnings []string

	version, buildInfo, ipv6 bool
}

// scriptFlags select the scripts to run.
type scriptFlags struct {
	evals       []string
	files       []string
	shell       bool
	interactive bool
	set         []string
	setJSON     []string
	compat      bool
	norc        bool
}

// resultFlags say how to print the results of scripts.
type resultFlags struct {
	json        string // "", relaxed or canonical
	jsonl       bool
	limit       cmdline.Optional[uint64]
	deepInspect cmdline.OptionalBool
}

// noticeFlags control messages other than results.
type noticeFlags struct {
	verbose             cmdline.OptionalBool
	skipStartupWarnings bool
}

// sandboxFlags are the permissions of scripts on this machine.
type sandboxFlags struct {
	sandbox bool
	allow   sandbox.Rules
}

func (o *shellFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{
		cmdline.NewGroup("Scripts", func(f *pflag.FlagSet) {
			f.StringArrayVar(&o.evals, "eval", nil, "`JAVASCRIPT` run this and print its result; repeat to add")
			f.StringArrayVarP(&o.files, "file", "f", nil, "`FILE` run this script; repeat to add (- is stdin)")
			f.BoolVar(&o.shell, "shell", false, "open the shell after --eval and the scripts")
			f.BoolVar(&o.interactive, "interactive", false,
				"be interactive also on a pipe: print prompts, continue after errors")
			f.StringArrayVar(&o.set, "set", nil, "`NAME=VALUE` define a global string; repeat to add")
			f.StringArrayVar(&o.setJSON, "setJSON", nil, "`NAME=EJSON` define any other global; repeat to add")
			cmdline.DurationVar(f, &o.timeout, "timeout", "`TIME` stop the run after 90, 30s, 5m")
			f.BoolVar(&o.compat, "compat", false, "return what the helpers of the old mongo shell returned")
			f.BoolVar(&o.norc, "norc", false, "don't run ~/.shardshrc.js")
			f.BoolVar(&o.nodb, "nodb", false, "don't connect to a cluster")
		}),
		cmdline.NewGroup("Output", func(f *pflag.FlagSet) {
			f.StringVar(&o.json, "json", "", "`canonical|relaxed` print the result as extended JSON")
			f.Lookup("json").NoOptDefVal = "canonical"
			f.BoolVar(&o.jsonl, "jsonl", false, "print the result as JSON, one document a line")
			cmdline.OptionalVar(f, &o.limit, "limit",
				"`N` print at most N documents of a cursor (20, as in the shell; 0: all)", cmdline.ParseNumber)
			cmdline.OptionalBoolVar(f, &o.deepInspect, "deepInspect", "`true|false` print nested documents whole (true)")
			cmdline.OptionalBoolVar(f, &o.quiet, "quiet", "no banner, no notices")
			cmdline.OptionalBoolVar(f, &o.verbose, "verbose", "print the banner and notices also for scripts")
			f.BoolVar(&o.skipStartupWarnings, "skipStartupWarnings", false, "don't show the server's startup warnings")
		}),
	}
	groups = append(groups, o.server.Flags()...)
	return append(groups,
		mockGroup(o.addMockFlag, o.addSnapshotFlag, o.addMockTimeFlag, o.addShellOnlyFlags),
		cmdline.NewGroup("Safety", func(f *pflag.FlagSet) {
			f.BoolVar(&o.readOnly, "read-only", false, "refuse commands that change something")
			f.BoolVar(&o.dryRun, "dry-run", false, "print commands that change something, and run them on a mock of the cluster")
			f.BoolVar(&o.confirm, "confirm", false, "ask before each command that changes something")
			o.addTranscriptFlag(f)
			o.addConsentFlags(f)
			f.BoolVar(&o.sandbox, "sandbox", false,
				"scripts can't reach this machine: no files, environment, other hosts or programs")
			f.StringArrayVar(&o.allow.ReadPaths, "allow-read", nil, "`PATH` a file or directory they may read; repeat to add")
			f.StringArrayVar(&o.allow.EnvNames, "allow-env", nil, "`NAME` a variable they may see; repeat to add")
			f.StringArrayVar(&o.allow.Hosts, "allow-net", nil, "`HOST` host or host:port they may connect to; repeat to add")
		}),
		cmdline.NewGroup("About", func(f *pflag.FlagSet) {
			f.BoolVar(&o.version, "version", false, "print the version")
			f.BoolVar(&o.buildInfo, "buildInfo", false, "print how this program was built")
			f.BoolVar(&o.ipv6, "ipv6", false, "nothing: both kinds of addresses work")
			f.Lookup("ipv6").Hidden = true
		}))
}

// parseArgs parses the words of the command line. Errors are usage errors that name the argument.
func (o *shellFlags) parseArgs(words []string) error {
	if len(words) > 0 && o.nodb && !isScript(words[0]) {
		return usagef("%q is not a script that exists; with --nodb there is no address", secret.Redact(words[0]))
	}
	if len(words) > 0 && !o.nodb && !isScript(words[0]) {
		if err := o.takeAddress(words[0]); err != nil {
			return err
		}
		words = words[1:]
	}
	o.files = append(o.files, words...)
	return o.check()
}

func (o *shellFlags) check() error {
	if o.json != "" && o.json != "canonical" && o.json != "relaxed" {
		return usagef("--json takes canonical or relaxed, not %q", o.json)
	}
	if err := o.clusterFlags.check(); err != nil {
		return err
	}
	return firstViolation(
		constraint{o.wantsJSON() && !o.hasScripts(), "--json and --jsonl need --eval or a script"},
		constraint{o.wantsJSON() && slices.Contains(o.files, "-"),
			"--json and --jsonl need a script in a file, not on standard input"},
		constraint{o.wantsJSON() && (o.shell || o.interactive), "--json or --jsonl, and a shell exclude each other"},
		constraint{!o.sandbox && len(o.allow.ReadPaths)+len(o.allow.EnvNames)+len(o.allow.Hosts) > 0,
			"--allow-read, --allow-env and --allow-net are for --sandbox only; everything is allowed without it"},
		constraint{o.confirm && (o.readOnly || o.dryRun),
			"--confirm, and --read-only or --dry-run exclude each other: these send no change"},
	)
}

// hasScripts reports whether the command line has scripts to run, apart from standard input.
func (o *scriptFlags) hasScripts() bool { return len(o.evals)+len(o.files) > 0 }

// pageLimit returns the maximum number of a cursor's documents, in the form of
// bindings.Config.ResultLimit.
func (o *resultFlags) pageLimit() int {
	if o.limit.IsSet && o.limit.Value == 0 {
		return -1
	}
	return int(o.limit.Value)
}

func (o *resultFlags) wantsJSON() bool { return o.json != "" || o.jsonl }

// wantsNotices reports whether notices are shown. The quiet option decides, then --verbose, then
// whether the session is interactive (rules/04-command-line-and-prompt §1.5).
func (o *shellFlags) wantsNotices(interactive bool) bool {
	switch {
	case o.quiet.Given:
		return !o.quiet.On
	case o.verbose.Given:
		return o.verbose.On
	}
	return interactive
}

var scriptSuffixes = []string{".js", ".cjs", ".mjs", ".ts", ".mongodb"}

// isScript reports whether a word is a script rather than an address (rules/04-command-line-and-prompt
// §1.2): an existing file, -, or a name with the extension of a script.
func isScript(arg string) bool {
	if arg == "-" || arg == "/dev/stdin" {
		return true
	}
	if target.IsURI(arg) {
		return false
	}
	for _, suffix := range scriptSuffixes {
		if strings.HasSuffix(arg, suffix) {
			return true
		}
	}
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir()
}
