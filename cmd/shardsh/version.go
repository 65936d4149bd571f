package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/pflag"

	"shardsh/cmd/shardsh/buildinfo"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// versionFlags are the flags of "shardsh version".
type versionFlags struct {
	json, sbom bool
	of         string
}

func (o *versionFlags) groups() []cmdline.Group {
	return []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.BoolVar(&o.json, "json", false, "print all details as JSON")
		f.BoolVar(&o.sbom, "sbom", false, "print the bill of materials: the modules in it, as CycloneDX JSON")
		f.StringVar(&o.of, "of", "", "`FILE` with --sbom: of this Go program instead of shardsh")
	})}
}

func (o *versionFlags) parseArgs(_ environment, words []string) error {
	switch {
	case len(words) > 0:
		return usagef("version takes no address: %q. db.version() returns the one of a cluster", secret.Redact(words[0]))
	case o.of != "" && !o.sbom:
		return usagef("--of needs --sbom")
	case o.sbom && o.json:
		return usagef("--json and --sbom exclude each other: both are JSON")
	}
	return nil
}

// run implements "shardsh version".
func (o *versionFlags) run(_ context.Context, env environment) error {
	switch {
	case o.sbom:
		bill, err := buildinfo.ReadSBOM(o.of)
		if err != nil {
			return err
		}
		return writeJSON(env.stdout, bill)
	case o.json:
		return writeJSON(env.stdout, buildinfo.Read())
	}
	_, err := fmt.Fprintln(env.stdout, buildinfo.Read().Line())
	return err
}

func versionText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Prints the version and the commit of this program; with --json also the driver, the
mongosh that the shell follows, and the releases that the mock can behave like.`,
		Examples: []string{
			"shardsh version",
			"shardsh version --json | jq -r .commit",
			"shardsh version --sbom > shardsh.cdx.json",
		},
	}
}

// printBuildInfo prints the build information as a JSON document, like mongosh's option of the same
// name.
func printBuildInfo(env environment) error {
	b := buildinfo.Read()
	return writeJSON(env.jsonOut(), struct {
		Version  string            `json:"version"`
		Go       string            `json:"goVersion"`
		Platform string            `json:"platform"`
		Arch     string            `json:"arch"`
		Revision string            `json:"gitVersion,omitempty"`
		Modified bool              `json:"modified,omitempty"`
		Time     string            `json:"gitTime,omitempty"`
		Mongosh  string            `json:"mongosh"`
		Modules  map[string]string `json:"deps"`
	}{b.Version, b.Go, runtime.GOOS, runtime.GOARCH, b.Commit, b.Dirty, b.Date, b.Mongosh, b.Modules})
}
