package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"shardsh/balancer/live"
)

// check is "shardsh check": one line a collection, exit code 3 when one of
// them is not balanced.
func (env environment) check(ctx context.Context) error {
	var o commandLine
	flags := pflag.NewFlagSet("shardsh check", pflag.ContinueOnError)
	flags.SetOutput(env.stderr)
	flags.Usage = func() {}
	asJSON := flags.Bool("json", false, "print one JSON document")
	flags.StringVar(&o.mock, "mock", "", "check a mock cluster: N shards or a topology file")
	flags.Lookup("mock").NoOptDefVal = mockGiven
	flags.BoolVar(&o.quiet, "quiet", false, "print nothing but collections that are not balanced")
	if err := flags.Parse(env.args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			env.printCheckHelp(flags)
			return nil
		}
		return usageError{err}
	}
	if flags.NArg() > 1 {
		return usagef("check takes one address, not also %q", redact(flags.Arg(1)))
	}
	o.address = flags.Arg(0)
	if err := o.check(); err != nil {
		return err
	}
	conn, err := env.connect(ctx, o, false)
	if err != nil {
		return err
	}
	defer conn.close()
	if o.usesMock() && o.mock == "" {
		notice(env.stderr, o.quiet, "No address given: checking the embedded %s.", conn.cluster)
	}
	list, err := live.Balance(ctx, conn.client)
	if err != nil {
		return err
	}
	return env.printBalance(list, *asJSON, o.quiet)
}

func (env environment) printBalance(list []live.Compliance, asJSON, quiet bool) error {
	bad := 0
	for _, c := range list {
		if !c.Compliant {
			bad++
		}
	}
	if asJSON {
		encoder := json.NewEncoder(env.stdout)
		encoder.SetIndent("", "  ")
		err := encoder.Encode(struct {
			Compliant   bool              `json:"compliant"`
			Collections []live.Compliance `json:"collections"`
		}{bad == 0, list})
		if err != nil {
			return err
		}
	} else {
		env.printLines(list, quiet)
	}
	if bad > 0 {
		return findingsError{bad}
	}
	return nil
}

func (env environment) printLines(list []live.Compliance, quiet bool) {
	if len(list) == 0 && !quiet {
		fmt.Fprintln(env.stdout, "no sharded collections")
	}
	width := 0
	for _, c := range list {
		width = max(width, len(c.Namespace))
	}
	for _, c := range list {
		state := "balanced"
		if !c.Compliant {
			state = "NOT balanced: " + c.Violation
		}
		if c.NoBalance {
			state += " (balancing is disabled)"
		}
		if !quiet || !c.Compliant {
			fmt.Fprintf(env.stdout, "%-*s  %s\n", width, c.Namespace, state)
		}
	}
}

func (env environment) printCheckHelp(flags *pflag.FlagSet) {
	fmt.Fprintf(env.stdout, `Checks the balance of every sharded collection, one line each.

Usage:
  shardsh check [options] [address]

Options:
%s
Exit codes: 0 every collection is balanced; 3 one is not; 1 the cluster can't
be asked; 2 wrong command line.
`, flags.FlagUsages())
}
