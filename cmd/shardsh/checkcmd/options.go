// Package checkcmd parses the options and policy files of "shardsh check", and prints its reports.
package checkcmd

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/check"
	"shardsh/balancer/safefile"
	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
)

// Options are the command-line options of check: rules, thresholds, exceptions.
type Options struct {
	policyFile, baseline                        string
	rules, maxima, severities                   []string
	namespaces, excludedNamespaces, allowedWork []string
	failOn                                      string
	since                                       time.Duration
	requireCollections                          bool
	allowMissing                                bool
}

// Groups returns the options of a command line.
func (o *Options) Groups() []cmdline.Group {
	return []cmdline.Group{
		cmdline.NewGroup("Rules", func(f *pflag.FlagSet) {
			f.StringSliceVar(&o.rules, "rules", nil, "`NAME,…` rules to check: their names, usual or all (usual)")
			f.StringSliceVar(&o.maxima, "max", nil, "`RULE=VALUE,…` thresholds: jumbo=5, uneven=20%, balancer=24h")
			f.StringSliceVar(&o.severities, "severity", nil, "`RULE=GRADE,…` severity of a rule: info, warning or critical")
			f.StringVar(&o.policyFile, "policy", "", "`FILE` policy file in YAML; options override it")
			f.StringVar(&o.failOn, "fail-on", "", "`info|warning|critical` fail on findings of this grade and above (warning)")
			f.StringSliceVar(&o.allowedWork, "allow", nil, "`WORK,…` don't fail during draining, defragmenting, resharding")
			f.StringVar(&o.baseline, "baseline", "", "`FILE` fail only on what is worse than in this --json output")
			cmdline.DurationVar(f, &o.since, "since", "`TIME` count failed migrations of this period (10m)")
		}),
		cmdline.NewGroup("Collections", func(f *pflag.FlagSet) {
			f.StringArrayVar(&o.namespaces, "ns", nil, "`GLOB` only these collections: 'shop.*'; repeat to add")
			f.StringArrayVar(&o.excludedNamespaces, "exclude", nil, "`GLOB` exclude these collections; repeat to add")
			f.BoolVar(&o.allowMissing, "allow-missing", false, "a --ns that names no collection is unknown, not an error")
			f.BoolVar(&o.requireCollections, "require-collections", false, "fail when there is no collection to check")
		}),
	}
}

// Policy returns the policy that results from the policy file and the options.
func (o Options) Policy() (*check.Policy, error) {
	p := check.Default()
	if o.policyFile != "" {
		data, err := safefile.Read(o.policyFile, maxPolicyBytes, readTimeout)
		if err != nil {
			return nil, cmdline.Usagef("--policy: %w", err)
		}
		if err := LoadPolicy(p, data); err != nil {
			return nil, cmdline.Usagef("--policy: %s:%w", o.policyFile, err)
		}
	}
	for _, set := range []struct {
		option string
		values []string
		to     func() error
	}{
		{"--rules", o.rules, func() error { return p.EnableOnly(o.rules) }},
		{"--max", o.maxima, func() error { return eachRule(p, o.maxima, (*check.RuleChoice).SetMax) }},
		{"--severity", o.severities, func() error { return eachRule(p, o.severities, setSeverity) }},
		{"--allow", o.allowedWork, func() error { return p.SetAllow(o.allowedWork) }},
		{"--fail-on", nonEmptyList(o.failOn), func() (err error) {
			p.FailOn, err = check.ParseSeverity(o.failOn)
			return err
		}},
		{"--baseline", nonEmptyList(o.baseline), func() error { return loadBaseline(p, o.baseline) }},
	} {
		if len(set.values) == 0 {
			continue
		}
		if err := set.to(); err != nil {
			return nil, cmdline.Usagef("%s: %w", set.option, withSuggestion(err))
		}
	}
	p.Namespaces.Include = append(p.Namespaces.Include, o.namespaces...)
	p.Namespaces.Exclude = append(p.Namespaces.Exclude, o.excludedNamespaces...)
	if o.since != 0 {
		p.MaxFailureAge = o.since
	}
	if o.requireCollections {
		p.RequireCollections()
	}
	if o.allowMissing {
		p.SetAllowMissing()
	}
	return p, nil
}

func nonEmptyList(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// eachRule calls set for each RULE=VALUE in a list.
func eachRule(p *check.Policy, list []string, set func(*check.RuleChoice, string) error) error {
	for _, word := range list {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return fmt.Errorf("%q is not RULE=VALUE", word)
		}
		c, err := p.Choice(name)
		if err == nil {
			err = set(c, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func setSeverity(c *check.RuleChoice, text string) (err error) {
	c.Severity, err = check.ParseSeverity(text)
	return err
}

// withSuggestion adds a suggestion for a misspelled name, and the valid names.
func withSuggestion(err error) error {
	var unknown *check.UnknownError
	if !errors.As(err, &unknown) {
		return err
	}
	if near := plaintext.DidYouMean(unknown.Name, unknown.Known); near != "" {
		return fmt.Errorf("%w%s", err, near)
	}
	return fmt.Errorf("%w; there are %s", err, strings.Join(unknown.Known, ", "))
}

// loadBaseline reads the output of an earlier check.
func loadBaseline(p *check.Policy, path string) error {
	data, err := safefile.Read(path, maxBaselineBytes, readTimeout)
	if err == nil {
		p.Baseline, err = check.ParseBaseline(data)
	}
	if err != nil && !errors.As(err, new(*os.PathError)) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

const (
	maxPolicyBytes   = 1 << 20
	maxBaselineBytes = 256 << 20
	readTimeout      = 30 * time.Second
)
