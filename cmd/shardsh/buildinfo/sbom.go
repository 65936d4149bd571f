package buildinfo

import (
	"debug/buildinfo"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
)

// SBOM is a bill of materials in the format of CycloneDX 1.6: the modules in a program, with their
// versions. The build does not record their licences, so the bill does not contain them.
type SBOM struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     Metadata     `json:"metadata"`
	Components   []Component  `json:"components"`
	Dependencies []Dependency `json:"dependencies"`
}

// Metadata describes the program of the bill. The time is that of the commit, so that the same program
// has the same bill.
type Metadata struct {
	Timestamp string    `json:"timestamp,omitempty"`
	Component Component `json:"component"`
}

// Component is a module, or the program.
type Component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []Property `json:"properties,omitempty"`
}

// Property is a fact that the format has no field for.
type Property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Dependency lists the dependencies of a component.
type Dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// ReadSBOM returns the bill of a Go program in a file; of this program for an empty path.
func ReadSBOM(path string) (SBOM, error) {
	if path == "" {
		info, ok := debug.ReadBuildInfo()
		if !ok {
			return SBOM{}, fmt.Errorf("this program was built without module information")
		}
		return newBill(info), nil
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return SBOM{}, fmt.Errorf("%s: %w", path, err)
	}
	return newBill(info), nil
}

func newBill(info *debug.BuildInfo) SBOM {
	program := newComponent("application", info.Main.Path, versionOf(info))
	for _, key := range []string{"GOOS", "GOARCH", "CGO_ENABLED", "-ldflags", "-trimpath", "vcs.revision",
		"vcs.modified"} {
		if value := buildSetting(info, key); value != "" {
			program.Properties = append(program.Properties, Property{"go:build:" + key, value})
		}
	}
	b := SBOM{Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: Metadata{Timestamp: buildSetting(info, "vcs.time"), Component: program}}
	made := Dependency{Ref: program.Ref}
	add := func(c Component) {
		b.Components = append(b.Components, c)
		made.DependsOn = append(made.DependsOn, c.Ref)
	}
	add(newComponent("library", "std", strings.TrimPrefix(info.GoVersion, "go")))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := newComponent("library", m.Path, m.Version)
		if m.Sum != "" {
			c.Properties = []Property{{"go:sum", m.Sum}}
		}
		add(c)
	}
	b.Dependencies = []Dependency{made}
	return b
}

func newComponent(kind, path, version string) Component {
	purl := "pkg:golang/" + path + "@" + url.PathEscape(version)
	return Component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}
