package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/report"
	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/targets"
)

// fleetFlags select clusters from a targets file. A subcommand with these flags reads all selected
// clusters. With --cluster, it reads one of them as if its address were given.
type fleetFlags struct {
	file        string
	selects     []string
	clusterName string
	parallel    int

	list []targets.Target // the selected clusters; empty for a single cluster
}

const (
	// fleetParallel is the number of clusters that are read concurrently.
	fleetParallel = 8
	// fleetTimeout is the time limit for each cluster.
	fleetTimeout = 30 * time.Second
)

func (o *fleetFlags) group() cmdline.Group {
	return cmdline.NewGroup("Fleet", func(f *pflag.FlagSet) {
		f.StringVar(&o.file, "targets", "", "`FILE` all clusters of this file, in YAML, in place of an address")
		f.StringArrayVar(&o.selects, "select", nil, "`LABEL=VALUE,…` only those with such labels; also !=, or only LABEL")
		f.StringVar(&o.clusterName, "cluster", "", "`NAME` only this one of them, with the whole answer")
		f.IntVar(&o.parallel, "parallel", fleetParallel,
			"`N` clusters are asked at the same time; each has 30s, or --timeout")
	}).OnPage("fleet", "Fleet")
}

// isSet reports whether --targets was used.
func (o *fleetFlags) isSet() bool { return o.file != "" }

// isFleet reports whether each cluster gets a line.
func (o *fleetFlags) isFleet() bool { return len(o.list) > 0 }

// selectTargets reads the targets file and selects clusters.
func (o *fleetFlags) selectTargets() error {
	if err := firstViolation(
		constraint{o.file == "" && (len(o.selects) > 0 || o.clusterName != ""),
			"--select and --cluster choose from the clusters of --targets FILE"},
		constraint{len(o.selects) > 0 && o.clusterName != "", "--select and --cluster exclude each other"},
		constraint{o.parallel < 1, "--parallel takes a number of at least 1"},
	); err != nil || o.file == "" {
		return err
	}
	all, err := targets.Read(o.file)
	if err != nil {
		return usagef("--targets: %w", err)
	}
	if o.clusterName != "" {
		t, found := targets.Find(all, o.clusterName)
		if !found {
			return usagef("--cluster: %s has no cluster %q%s", o.file, o.clusterName,
				plaintext.DidYouMean(o.clusterName, targets.Names(all)))
		}
		o.list = []targets.Target{t}
		return nil
	}
	by, err := targets.ParseSelector(o.selects...)
	if err != nil {
		return usagef("--select: %w", err)
	}
	if o.list = targets.Select(all, by); len(o.list) == 0 {
		return usagef("--select: none of the %d clusters of %s has such labels", len(all), o.file)
	}
	return nil
}

// parseFleetArgs parses a command line with --targets. With --cluster, the result is the same as if that
// cluster had been given directly.
func (o *sourceFlags) parseFleetArgs(env environment, words []string) error {
	if len(words) > 0 || o.from != "" || o.mock != "" || o.server.Host != "" || o.server.Port != "" {
		return usagef("--targets FILE names the clusters: leave the address, --from and --mock out")
	}
	if o.fleet.clusterName == "" {
		for _, t := range o.fleet.list {
			one := o.flagsForTarget(t)
			if err := one.parseArgs(env, nil); err != nil {
				return usagef("%s: %w", t.Name, err)
			}
		}
		return nil
	}
	*o = o.flagsForTarget(o.fleet.list[0])
	return o.parseArgs(env, nil)
}

// flagsForTarget returns the flags for one cluster of a fleet.
func (o *sourceFlags) flagsForTarget(t targets.Target) sourceFlags {
	one := *o
	one.fleet = fleetFlags{}
	one.from, one.mock = t.MetadataFile, t.Mock
	if t.URI != "" {
		one.server = t.ConnectionFlags(o.server)
	}
	return one
}

// fleetMember is the result for one cluster.
type fleetMember[R any] struct {
	targets.Target
	answer R
	err    error
}

// errText returns why a cluster could not be read, without credentials; empty if it was.
func (m fleetMember[R]) errText() string {
	if m.err == nil {
		return ""
	}
	return ruleFailureOf(m.err).Message
}

// readFleet reads all clusters, several concurrently, each with its own timeout. A cluster that is down
// gets a line like the others. The results are in the order of the file. The error is that of a signal.
func readFleet[R any](
	ctx context.Context,
	env environment,
	o *sourceFlags,
	ask func(ctx context.Context, env environment, one *sourceFlags, t targets.Target) (R, error),
) ([]fleetMember[R], error) {
	env.stderr, env.unattended = &lockedWriter{w: io.Discard}, true
	answers := make([]fleetMember[R], len(o.fleet.list))
	free := make(chan struct{}, o.fleet.parallel)
	var asking sync.WaitGroup
	for i, t := range o.fleet.list {
		answers[i].Target = t
		asking.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			one := o.flagsForTarget(t)
			one.quiet.On, one.timeout = true, cmp.Or(one.timeout, fleetTimeout)
			answers[i].err = mongoerr.CatchPanic(nil, "asking "+t.Name, func() error {
				return one.runWithTimeout(ctx, env, func(ctx context.Context) (err error) {
					answers[i].answer, err = ask(ctx, env, &one, t)
					return preferTimeout(ctx, err)
				})
			})
		})
	}
	asking.Wait()
	if errors.As(context.Cause(ctx), new(signalError)) {
		return nil, context.Cause(ctx)
	}
	return answers, nil
}

// fleetLine is the line of a cluster.
type fleetLine struct{ state, name, labels, text string }

// fleetStates are sorted like the lines.
var fleetStates = []string{"FAILED", "critical", "UNKNOWN", "unknown", "warning", "info", "fine", "OK", "saved"}

// newFleetLine returns the line of a cluster, including one that could not be read.
func newFleetLine[R any](m fleetMember[R], of func(R) (state, text string)) fleetLine {
	line := fleetLine{"unknown", m.Name, m.LabelText(), m.errText()}
	if m.err == nil {
		line.state, line.text = of(m.answer)
	}
	return line
}

// answerLine returns the verdict and headline of a cluster.
func answerLine(a *diagnosis.Answer) (state, text string) {
	return report.VerdictOf(*a), a.Headline()
}

// writeFleet writes the lines, the worst first, limited to the width of the terminal.
func writeFleet(to io.Writer, lines []fleetLine, columns int) error {
	slices.SortStableFunc(lines, func(a, b fleetLine) int {
		return cmp.Or(cmp.Compare(slices.Index(fleetStates, a.state), slices.Index(fleetStates, b.state)),
			cmp.Compare(a.name, b.name))
	})
	state, name, counts := 0, 0, map[string]int{}
	for _, l := range lines {
		state, name = max(state, len(l.state)), max(name, len(l.name))
		counts[l.state]++
	}
	for _, l := range lines {
		text := fmt.Sprintf("%-*s  %-*s  %s", state, l.state, name, l.name, plaintext.EscapeLine(l.text))
		if columns > 0 {
			text = plaintext.Truncate(text, columns)
		}
		if _, err := fmt.Fprintln(to, strings.TrimRight(text, " ")); err != nil {
			return err
		}
	}
	var sums []string
	for _, s := range fleetStates {
		if counts[s] > 0 {
			sums = append(sums, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	_, err := fmt.Fprintf(to, "%s: %s\n", humanize.Count(len(lines), "cluster"), strings.Join(sums, ", "))
	return err
}

// fleetJSON returns the JSON form of the clusters; name is the field of the answer.
func fleetJSON[R any](members []fleetMember[R], name string) []map[string]any {
	list := []map[string]any{}
	for _, m := range members {
		one := map[string]any{"cluster": m.Name, "address": m.Location()}
		if len(m.Labels) > 0 {
			one["labels"] = m.Labels
		}
		if m.err != nil {
			one["error"] = ruleFailureOf(m.err)
		} else {
			one[name] = m.answer
		}
		list = append(list, one)
	}
	return list
}

// fleetError returns an error if some clusters could not be read; the reasons were already printed.
func fleetError[R any](members []fleetMember[R]) error {
	for _, m := range members {
		if m.err != nil {
			return reportedError{fmt.Errorf("%s: %s", m.Name, m.errText())}
		}
	}
	return nil
}
