package main

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/pflag"

	"shardsh/cmd/shardsh/built"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// versionLine is the command line of "shardsh version".
type versionLine struct {
	json, sbom, help bool
	of               string
}

func (o *versionLine) groups() []cmdline.Group {
	return []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.BoolVar(&o.json, "json", false, "all that is known of this program, as JSON")
		f.BoolVar(&o.sbom, "sbom", false, "the modules in it: a bill of materials as CycloneDX, in JSON")
		f.StringVar(&o.of, "of", "", "`FILE` with --sbom: of this program of Go in place of itself")
		f.BoolVarP(&o.help, "help", "h", false, "print this help")
	})}
}

// tellVersion is "shardsh version".
func (env environment) tellVersion(context.Context) error {
	var o versionLine
	groups := o.groups()
	words, err := env.parseWords(groups)
	switch {
	case err != nil:
		return err
	case o.help:
		return printVersionHelp(env.stdout, groups)
	case len(words) > 0:
		return usagef("version takes no address: %q. db.version() tells the one of a cluster", secret.Redact(words[0]))
	case o.of != "" && !o.sbom:
		return usagef("--of needs --sbom")
	case o.sbom && o.json:
		return usagef("--json and --sbom exclude each other: both are JSON")
	case o.sbom:
		bill, err := built.BillOf(o.of)
		if err != nil {
			return err
		}
		return writeJSON(env.stdout, bill)
	case o.json:
		return writeJSON(env.stdout, built.This())
	}
	_, err = fmt.Fprintln(env.stdout, built.This().Line())
	return err
}

func printVersionHelp(to io.Writer, groups []cmdline.Group) error {
	_, err := fmt.Fprintf(to, `Says what this program is: its version, the commit it was built from, and with
--json also the driver, and the releases that the mock cluster can behave like.
--sbom lists the modules in it.

Usage:
  shardsh version [options]

%s
Examples:
  shardsh version
  shardsh version --json | jq -r .commit
  shardsh version --sbom > shardsh.cdx.json
`, cmdline.Usage(groups))
	return err
}

// printBuildInfo prints how this program was built, as mongosh's option of that name
// does: a JSON document.
func (env environment) printBuildInfo() error {
	b := built.This()
	return writeJSON(env.toldJSON(), struct {
		Version  string            `json:"version"`
		Go       string            `json:"goVersion"`
		Platform string            `json:"platform"`
		Arch     string            `json:"arch"`
		Revision string            `json:"gitVersion,omitempty"`
		Modified bool              `json:"modified,omitempty"`
		Time     string            `json:"gitTime,omitempty"`
		Modules  map[string]string `json:"deps"`
	}{b.Version, b.Go, runtime.GOOS, runtime.GOARCH, b.Commit, b.Dirty, b.Date, b.Modules})
}
