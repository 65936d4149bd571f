package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// quiesceFlags are the options of "shardsh quiesce".
type quiesceFlags struct {
	clusterFlags
	commonFlags
	safetyFlags
	hold                                   time.Duration
	detach, endHold, ignoreDeletions, json bool
	insideCommand                          []string // the command to run, after --
}

func (o *quiesceFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		cmdline.DurationVar(f, &o.timeout, "timeout", "`TIME` how long to wait until it is quiet: 90, 10m, 1h (20m)")
		cmdline.DurationVar(f, &o.hold, "hold", "`TIME` how long to keep it quiet: 30m, 2h; with a command at most")
		f.BoolVar(&o.detach, "detach", false, "return when it is quiet, and leave it so for the time of --hold")
		f.BoolVar(&o.endHold, "end", false, "restore what --detach, or a run that was killed, has stopped")
		f.BoolVar(&o.ignoreDeletions, "ignore-deletions", false, "don't wait for range deletions")
		f.BoolVar(&o.dryRun, "dry-run", false, "print the commands and the running operations, change nothing")
		f.BoolVar(&o.readOnly, "read-only", false, "refuse to change anything")
		f.BoolVar(&o.json, "json", false, "print the verdict as JSON")
		o.addTranscriptFlag(f)
		cmdline.OptionalBoolVar(f, &o.quiet, "quiet", "no notices")
	})}
	groups = append(append(groups, o.consentGroup()), o.server.Flags()...)
	return append(groups, mockGroup(o.addMockFlag, o.addSnapshotFlag))
}

func (o *quiesceFlags) parseArgs(env environment, words []string) error {
	if at := slices.Index(env.args, "--"); at >= 0 {
		o.insideCommand = env.args[at+1:]
		words = words[:len(words)-len(o.insideCommand)]
		if len(o.insideCommand) == 0 {
			return usagef("there is no command after --")
		}
	}
	if err := o.takeCluster(env, words, "; a command comes after --"); err != nil {
		return err
	}
	if err := firstViolation(constraint{o.readOnly && !o.dryRun,
		"--read-only and quiesce exclude each other: --dry-run shows what would be sent"}); err != nil {
		return err
	}
	return optionsUsageError(o.action(env).Validate())
}

func (o *quiesceFlags) action(env environment) action.Quiesce {
	q := action.Quiesce{
		Timeout: o.timeout, Hold: o.hold, Detach: o.detach, End: o.endHold,
		IgnoreDeletions: o.ignoreDeletions, DryRun: o.dryRun,
	}
	if len(o.insideCommand) > 0 {
		q.WhileQuiet = func(ctx context.Context) error { return runInsideCommand(ctx, env, o.insideCommand) }
	}
	return q
}

// insideExitTimeout is how long a command may take to exit after it was told to.
const insideExitTimeout = 10 * time.Second

// runInsideCommand runs a command with the program's own input and output. When ctx ends, it tells the
// command to exit. The error has the command's exit code.
func runInsideCommand(ctx context.Context, env environment, words []string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = env.stdin, env.stdout, env.stderr
	cmd.WaitDelay = insideExitTimeout
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return cmd.Process.Kill() // Windows has no such signal
		}
		return nil
	}
	err := cmd.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		return &script.ExitError{Code: ended.ExitCode()}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	return nil
}

// run implements "shardsh quiesce": it stops the balancer and checks that nothing moves.
func (o *quiesceFlags) run(ctx context.Context, env environment) error {
	connecting, cancel := o.withTimeout(ctx)
	defer cancel()
	conn, err := connect(connecting, env, &o.clusterFlags,
		connectOptions{safetyMode: o.mode(), quiet: !o.quiet.Given || o.quiet.On})
	if err != nil {
		return preferTimeout(connecting, err)
	}
	defer conn.close()
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.errOut()})
	r := actionReporter(env, js, false, o.quiet.On)
	aside := o.json || len(o.insideCommand) > 0 // standard output belongs to the command
	r.ShowWouldSend = func(c action.WouldSend) { printChange(env, aside, c.Database, c.Command) }
	result, err := o.action(env).Run(ctx, conn.actionCluster(js.Clock), r)
	err = withFlagNames(err)
	if result.Verdict != "" {
		if shown := o.show(env, result); shown != nil {
			return shown
		}
	}
	if cause := context.Cause(ctx); cause != nil && o.wasIncomplete(result) {
		return cause
	}
	if err == nil && !result.Succeeded() {
		err = findingsError{}
	}
	return err
}

// wasIncomplete reports whether an interrupt ended the quiesce before the time of --hold.
func (o *quiesceFlags) wasIncomplete(r action.QuiesceResult) bool {
	return r.Verdict != action.VerdictQuiet || len(o.insideCommand) > 0
}

func (o *quiesceFlags) show(env environment, r action.QuiesceResult) error {
	r.Error = secret.Redact(r.Error)
	to := env.out()
	if len(o.insideCommand) > 0 {
		to = env.errOut()
	}
	if o.json {
		if len(o.insideCommand) == 0 {
			to = env.jsonOut()
		}
		return writeJSON(to, r)
	}
	_, err := fmt.Fprintln(to, strings.Join(actiontext.QuiesceResult(r), "\n"))
	return err
}

func quiesceText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Stops the balancer with proof: waits until no shard migrates, merges, reshards or
deletes a range, watches that while a command runs or for --hold, and then
restores the balancer's state. At the prompt, sh.quiesce() does the same.`,
		Examples: []string{
			"shardsh quiesce mongodb://host:27017 -- mongodump --host host --out /backup",
			"shardsh quiesce mongodb://host:27017 --hold 2h --detach",
			"shardsh quiesce mongodb://host:27017 --end",
		},
		More: `A cluster is quiet when balancerStatus and each shard ($currentOp, range
deletions) report that twice, with the same term of the config server. Then it
watches whether a client starts the balancer or moves data. The balancer's state
is stored in shardsh.leases first: after a kill the next run of shardsh, or --end,
restores it. Recipes: docs/quiesce.md.

Exit codes: 0 quiet to the end; 3 not quiet in time, or no longer quiet (the state
is restored); 1 error; 2 wrong command line; that of the command unless it is 0;
130, 143 interrupted.`,
	}
}
