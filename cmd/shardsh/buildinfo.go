package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// version returns the module's, as the build recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "0.1.0-dev"
	}
	return info.Main.Version
}

// printBuildInfo prints how this program was built, as a JSON document.
func (env environment) printBuildInfo() error {
	about := struct {
		Version  string            `json:"version"`
		Go       string            `json:"goVersion"`
		Platform string            `json:"platform"`
		Arch     string            `json:"arch"`
		Revision string            `json:"gitVersion,omitempty"`
		Modified bool              `json:"modified,omitempty"`
		Time     string            `json:"gitTime,omitempty"`
		Modules  map[string]string `json:"deps"`
	}{Version: version(), Go: runtime.Version(), Platform: runtime.GOOS, Arch: runtime.GOARCH,
		Modules: map[string]string{}}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				about.Revision = s.Value
			case "vcs.modified":
				about.Modified = s.Value == "true"
			case "vcs.time":
				about.Time = s.Value
			}
		}
		for _, m := range info.Deps {
			if strings.HasPrefix(m.Path, "go.mongodb.org/") || strings.Contains(m.Path, "/goja") {
				about.Modules[m.Path] = m.Version
			}
		}
	}
	text, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.toldJSON(), string(text))
	return err
}
