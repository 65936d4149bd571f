// Package buildinfo describes how this program was built: its version, its commit, and its modules.
package buildinfo

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/commands"
)

// Version returns the version of the module, as recorded by the build.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknownVersion
	}
	return versionOf(info)
}

// unknownVersion is the version of a binary built outside of a checkout.
const unknownVersion = "0.1.0-dev"

func versionOf(info *debug.BuildInfo) string {
	if info.Main.Version == "" || info.Main.Version == "(devel)" {
		return unknownVersion
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

// DriverPath is the path of MongoDB's driver module.
const DriverPath = "go.mongodb.org/mongo-driver/v2"

// MongoshVersion is the release of mongosh that the shell follows in its commands, helpers and output. The
// shell was compared with 2.12.0 by running it, and with later releases by their changelog.
const MongoshVersion = "2.14.0"

// About is the output of "shardsh version --json".
type About struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // missing if built outside of a checkout
	Date     string `json:"date,omitempty"`   // date of the commit
	Dirty    bool   `json:"dirty"`            // built with uncommitted changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Driver   Module `json:"driver"`
	Mock     Mock   `json:"mock"`
	Mongosh  string `json:"mongosh"` // the release that the shell follows
	// Modules are the modules that users of mongosh know, by path.
	Modules map[string]string `json:"-"`
}

// Module is a module in the program.
type Module struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Mock describes the capabilities of the mock cluster.
type Mock struct {
	Default  string   `json:"default"`
	Releases []string `json:"releases"`
	Commands int      `json:"commands"` // known to the router, in all releases
}

// Read returns the build information of this program.
func Read() About {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	a := About{Version: versionOf(info), Commit: buildSetting(info, "vcs.revision"), Date: buildSetting(info, "vcs.time"),
		Dirty: buildSetting(info, "vcs.modified") == "true", Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Mongosh: MongoshVersion, Modules: make(map[string]string)}
	for _, m := range info.Deps {
		if strings.HasPrefix(m.Path, "go.mongodb.org/") || strings.Contains(m.Path, "/goja") {
			a.Modules[m.Path] = m.Version
		}
	}
	a.Driver = Module{DriverPath, a.Modules[DriverPath]}
	a.Mock = Mock{Default: catalog.Release{}.String(), Commands: len(commands.All())}
	for _, r := range catalog.Releases() {
		a.Mock.Releases = append(a.Mock.Releases, r.String())
	}
	return a
}

// buildSetting returns a value that the build recorded; empty if it is missing.
func buildSetting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// Line returns the build information in one line for humans.
func (a About) Line() string {
	text := "shardsh " + a.Version
	if a.Commit != "" {
		text += fmt.Sprintf(" (%.12s%s, %s)", a.Commit, map[bool]string{true: ", changed"}[a.Dirty], a.Date)
	}
	return fmt.Sprintf("%s %s %s", text, a.Go, a.Platform)
}
