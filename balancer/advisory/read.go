package advisory

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"shardsh/balancer/catalog"
)

// File is a user's file that adds advisories to the list or removes advisories from it.
type File struct {
	list List
	// Mute holds the tickets that must not be reported.
	Mute []string
}

// fileYAML is the YAML form of a File.
type fileYAML struct {
	Dated      string     `yaml:"dated"`
	Mute       []string   `yaml:"mute"`
	Advisories []Advisory `yaml:"advisories"`
}

// Parse reads a list in YAML or JSON. Errors name the line and the problem on that line.
func Parse(text []byte) (File, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var f fileYAML
	switch err := d.Decode(&f); {
	case errors.Is(err, io.EOF):
		return File{}, errors.New("it is empty")
	case err != nil:
		return File{}, cleanError(err)
	}
	if err := d.Decode(new(fileYAML)); !errors.Is(err, io.EOF) {
		return File{}, errors.New("it is more than one document")
	}
	if _, err := time.Parse(time.DateOnly, f.Dated); err != nil && f.Dated != "" {
		return File{}, fmt.Errorf("dated: %q is not a date such as 2026-11-24", f.Dated)
	}
	seen := map[string]bool{}
	for i, a := range f.Advisories {
		err := a.check()
		if err == nil && seen[a.ID] {
			err = fmt.Errorf("%s occurs twice", a.ID)
		}
		if err != nil {
			return File{}, fmt.Errorf("line %d: advisory %s: %w", advisoryLine(text, i), cmp.Or(a.ID, "without id"), err)
		}
		seen[a.ID] = true
	}
	return File{List{f.Dated, f.Advisories}, f.Mute}, nil
}

// check returns an error that names a field which is missing or invalid.
func (a Advisory) check() error {
	for _, of := range []struct {
		field string
		empty bool
	}{
		{"id", a.ID == ""}, {"severity", a.Severity == ""}, {"affected", len(a.Affected) == 0},
		{"symptom", a.Symptom == ""}, {"remedy", a.Remedy == ""},
	} {
		if of.empty {
			return fmt.Errorf("%s is missing", of.field)
		}
	}
	for _, r := range a.Affected {
		if (r.Fixed != Version{}) && r.Fixed.Compare(r.From) <= 0 {
			return fmt.Errorf("affected: fixed %s is not after from %s", r.Fixed, r.From)
		}
	}
	return nil
}

var typeName = regexp.MustCompile(` (in type|into) (\[\])*advisory\.\w+`)

// cleanError removes the words of the YAML library and of Go from an error.
func cleanError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	first, _, _ := strings.Cut(text, "\n")
	return errors.New(typeName.ReplaceAllString(first, ""))
}

// advisoryLine returns the line on which the advisory with index i begins.
func advisoryLine(text []byte, i int) int {
	var doc struct {
		Advisories []yaml.Node `yaml:"advisories"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil || i >= len(doc.Advisories) {
		return 1
	}
	return doc.Advisories[i].Line
}

// UnmarshalYAML reads a version.
func (v *Version) UnmarshalYAML(n *yaml.Node) (err error) {
	if v.ServerVersion, err = catalog.ParseServerVersion(n.Value); err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return nil
}

// UnmarshalYAML reads one of the severities.
func (s *Severity) UnmarshalYAML(n *yaml.Node) error {
	return unmarshalEnum(s, n, "severity", Severities())
}

// UnmarshalYAML reads one of the states.
func (s *State) UnmarshalYAML(n *yaml.Node) error { return unmarshalEnum(s, n, "state", States()) }

// UnmarshalYAML reads one of the commands.
func (c *Command) UnmarshalYAML(n *yaml.Node) error {
	return unmarshalEnum(c, n, "command", Commands())
}

func unmarshalEnum[T ~string](into *T, n *yaml.Node, what string, known []T) error {
	if !slices.Contains(known, T(n.Value)) {
		names := make([]string, len(known))
		for i, name := range known {
			names[i] = string(name)
		}
		return fmt.Errorf("line %d: there is no %s %q; there are %s", n.Line, what, n.Value, strings.Join(names, ", "))
	}
	*into = T(n.Value)
	return nil
}
