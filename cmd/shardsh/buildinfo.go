package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/commands"
)

// version returns the module's, as the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "0.1.0-dev"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

// driverPath is the module of MongoDB's driver.
const driverPath = "go.mongodb.org/mongo-driver/v2"

// about is what "shardsh version --json" tells.
type about struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // absent when built outside of a checkout
	Date     string `json:"date,omitempty"`   // of the commit
	Dirty    bool   `json:"dirty"`            // something was changed since the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Driver   module `json:"driver"`
	Mock     struct {
		Default  string   `json:"default"`
		Releases []string `json:"releases"`
		Commands int      `json:"commands"` // that the router knows, over all releases
	} `json:"mock"`
	modules map[string]string
}

type module struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// builtAs returns how this program was built.
func builtAs() about {
	b := about{Version: version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		modules: make(map[string]string)}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Dirty = s.Value == "true"
			case "vcs.time":
				b.Date = s.Value
			}
		}
		for _, m := range info.Deps {
			if strings.HasPrefix(m.Path, "go.mongodb.org/") || strings.Contains(m.Path, "/goja") {
				b.modules[m.Path] = m.Version
			}
		}
	}
	b.Driver = module{driverPath, b.modules[driverPath]}
	b.Mock.Default = catalog.Release{}.String()
	for _, r := range catalog.Releases() {
		b.Mock.Releases = append(b.Mock.Releases, r.String())
	}
	b.Mock.Commands = len(commands.All())
	return b
}

// line returns the same in one line for people.
func (b about) line() string {
	text := "shardsh " + b.Version
	if b.Commit != "" {
		text += fmt.Sprintf(" (%.12s%s, %s)", b.Commit, map[bool]string{true: ", changed"}[b.Dirty], b.Date)
	}
	return fmt.Sprintf("%s %s %s", text, b.Go, b.Platform)
}

// printBuildInfo prints how this program was built, as mongosh's option of that name
// does: a JSON document.
func (env environment) printBuildInfo() error {
	b := builtAs()
	text, err := json.MarshalIndent(struct {
		Version  string            `json:"version"`
		Go       string            `json:"goVersion"`
		Platform string            `json:"platform"`
		Arch     string            `json:"arch"`
		Revision string            `json:"gitVersion,omitempty"`
		Modified bool              `json:"modified,omitempty"`
		Time     string            `json:"gitTime,omitempty"`
		Modules  map[string]string `json:"deps"`
	}{b.Version, b.Go, runtime.GOOS, runtime.GOARCH, b.Commit, b.Dirty, b.Date, b.modules}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.toldJSON(), string(text))
	return err
}
