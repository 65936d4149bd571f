package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/bindings/plaintext"
)

// check is "shardsh check": one line a collection, exit code 3 when one of
// them is not balanced.
func (env environment) check(ctx context.Context) error {
	var o commandLine
	var asJSON bool
	groups := checkFlags(&o, &asJSON)
	positional, rest, warnings, err := parseFlags(groups, env.args)
	switch {
	case err != nil:
		return err
	case o.help:
		env.printCheckHelp(groups)
		return nil
	}
	if positional = append(positional, rest...); len(positional) > 1 {
		return usagef("check takes one address, not also %q", redact(positional[1]))
	}
	if len(positional) > 0 {
		o.takeAddress(positional[0])
	}
	o.quiet = o.quietChoice.on
	if err := o.check(); err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(env.warned(), w)
	}
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	conn, err := env.connect(ctx, o, false)
	if err != nil {
		return because(ctx, err)
	}
	defer conn.close()
	if o.usesMock() && o.mock == "" {
		notice(env.stderr, o.quiet, "No address given: checking the embedded %s.", conn.cluster)
	}
	list, err := balances(ctx, live.AskerOf(conn.client))
	if err != nil {
		return because(ctx, err)
	}
	return env.printBalance(list, asJSON, o.quiet)
}

// balances asks for no more than a user with the role clusterMonitor may see.
func balances(ctx context.Context, cluster live.Asker) ([]diagnosis.Balance, error) {
	if err := live.CheckSharded(ctx, cluster); err != nil {
		return nil, err
	}
	seen, err := live.Look{Parts: live.Collections | live.Statuses}.Read(ctx, cluster)
	if err != nil {
		return nil, err
	}
	return diagnosis.Balances(seen.Snapshot), nil
}

// checked is a collection in the JSON document.
type checked struct {
	Namespace   string  `json:"ns"`
	Compliant   bool    `json:"compliant"`
	Violation   string  `json:"violation,omitempty"`
	ChunkSizeMB float64 `json:"chunkSizeMB,omitempty"`
	NoBalance   bool    `json:"balancingDisabled,omitempty"`
}

func (env environment) printBalance(list []diagnosis.Balance, asJSON, quiet bool) error {
	bad := 0
	rows := make([]checked, len(list))
	for i, b := range list {
		if !b.Balanced {
			bad++
		}
		rows[i] = checked{b.Namespace, b.Balanced, b.Violation, b.ChunkSizeMB, b.Hold == diagnosis.HeldNoBalance}
	}
	if asJSON {
		encoder := json.NewEncoder(env.toldJSON())
		encoder.SetIndent("", "  ")
		err := encoder.Encode(struct {
			Compliant   bool      `json:"compliant"`
			Collections []checked `json:"collections"`
		}{bad == 0, rows})
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

func (env environment) printLines(list []diagnosis.Balance, quiet bool) {
	if len(list) == 0 && !quiet {
		fmt.Fprintln(env.stdout, "no sharded collections")
	}
	width := 0
	for _, c := range list {
		width = max(width, len(plaintext.VisibleLine(c.Namespace)))
	}
	for _, b := range list {
		state := "balanced"
		if !b.Balanced {
			state = "NOT balanced: " + b.Violation
		}
		if b.Hold == diagnosis.HeldNoBalance {
			state += " (" + b.Hold.String() + ")"
		}
		if !quiet || !b.Balanced {
			fmt.Fprintf(env.told(), "%-*s  %s\n", width, plaintext.VisibleLine(b.Namespace), state)
		}
	}
}

// checkFlags returns the options of check.
func checkFlags(o *commandLine, asJSON *bool) []flagGroup {
	groups := []flagGroup{group("Options", func(f *pflag.FlagSet) {
		f.BoolVar(asJSON, "json", false, "print one JSON document")
		choiceVar(f, &o.quietChoice, "quiet", "print nothing but collections that are not balanced")
		f.Var(&o.timeout, "timeout", "`TIME` give up after 90, 30s, 5m")
		f.StringVar(&o.mock, "mock", "", "`N|FILE` check a mock cluster: number of shards, or a topology file")
		f.Lookup("mock").NoOptDefVal = mockGiven
		f.BoolVarP(&o.help, "help", "h", false, "print this help")
	})}
	return append(groups, connectionFlags(&o.server)...)
}

func (env environment) printCheckHelp(groups []flagGroup) {
	fmt.Fprintf(env.stdout, `Checks the balance of every sharded collection, one line each.

Usage:
  shardsh check [options] [address]

%s
Exit codes: 0 every collection is balanced; 3 one is not; 1 the cluster can't
be asked; 2 wrong command line.
`, groupUsage(groups))
}
