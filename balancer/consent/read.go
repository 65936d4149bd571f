package consent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"shardsh/balancer/catalog"
	"shardsh/balancer/pace"
	"shardsh/balancer/safefile"
	"shardsh/balancer/timespan"
)

// fileYAML is the YAML form of a policy.
type fileYAML struct {
	Verbs      []string   `yaml:"verbs"`
	Namespaces []string   `yaml:"namespaces"`
	Hours      []string   `yaml:"hours"`
	Limits     limitsYAML `yaml:"limits"`
	Defaults   limitsYAML `yaml:"defaults"`
	Approval   bool       `yaml:"require-approval"`
	Audit      string     `yaml:"audit"`
}

type limitsYAML struct {
	Moves    string `yaml:"max-moves"`
	Bytes    string `yaml:"max-bytes"`
	For      string `yaml:"for"`
	Parallel string `yaml:"parallel"`
	Disk     string `yaml:"disk-limit"`
}

// maxBytes limits the size of a policy file, and readTimeout the time to read it from a pipe.
const (
	maxBytes    = 1 << 20
	readTimeout = 30 * time.Second
)

// Load reads a policy from a file in YAML or JSON.
func Load(file string) (*Policy, error) {
	text, err := safefile.Read(file, maxBytes, readTimeout)
	if err != nil {
		return nil, fmt.Errorf("the policy can't be read, and nothing is changed without it: %w", err)
	}
	p, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the policy %s is wrong, and nothing is changed without it: %w", file, err)
	}
	p.File = file
	return p, nil
}

// Parse reads a policy in YAML or JSON. Unknown fields are errors.
func Parse(text []byte) (*Policy, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var f fileYAML
	switch err := d.Decode(&f); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it is empty")
	case err != nil:
		return nil, errors.New(strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), " in type consent.", " in "))
	}
	if err := d.Decode(new(fileYAML)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it is more than one document")
	}
	if err := checkNoEmptyRules(text); err != nil {
		return nil, err
	}
	p := &Policy{Verbs: f.Verbs, Namespaces: f.Namespaces, RequiresApproval: f.Approval, AuditDestination: f.Audit}
	for _, verb := range f.Verbs {
		if !slices.Contains(Verbs(), verb) {
			return nil, fmt.Errorf("verbs: %q is not one of %s", verb, strings.Join(Verbs(), ", "))
		}
	}
	for _, pattern := range f.Namespaces {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return nil, fmt.Errorf("namespaces: %q is not a valid pattern of collections", pattern)
		}
	}
	for _, text := range f.Hours {
		if len(strings.Fields(text)) < 2 {
			return nil, fmt.Errorf("hours: %q has no time zone; say \"%[1]s UTC\", or Europe/Berlin", text)
		}
		w, err := pace.ParseWindow(text, time.UTC)
		if err != nil {
			return nil, fmt.Errorf("hours: %w", err)
		}
		p.Hours = append(p.Hours, w)
	}
	var err error
	if p.Limits, err = f.Limits.limits("limits"); err != nil {
		return nil, err
	}
	if p.Defaults, err = f.Defaults.limits("defaults"); err != nil {
		return nil, err
	}
	if f.Defaults.Parallel != "" || f.Defaults.For != "" || f.Defaults.Disk != "" {
		return nil, errors.New("defaults are of max-moves and max-bytes")
	}
	return p, nil
}

// checkNoEmptyRules returns an error for rules without a value: an author who means "nothing" by that
// would allow everything.
func checkNoEmptyRules(text []byte) error {
	var rules map[string]yaml.Node
	if err := yaml.Unmarshal(text, &rules); err != nil {
		return err
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		n := rules[rule]
		if n.Tag == "!!null" || n.Kind != yaml.ScalarNode && n.Kind != yaml.AliasNode && len(n.Content) == 0 {
			return fmt.Errorf("%s: it is empty, which would allow everything: list what is allowed, or leave it out",
				rule)
		}
	}
	return nil
}

func (y limitsYAML) limits(of string) (l Limits, err error) {
	whole := func(text string) (int64, error) { return strconv.ParseInt(text, 10, 32) }
	span := func(text string) (int64, error) {
		d, err := timespan.ParseCommandLine(text)
		return int64(d), err
	}
	for _, one := range []struct {
		name, text string
		read       func(string) (int64, error)
		set        func(int64)
	}{
		{"max-moves", y.Moves, whole, func(n int64) { l.Moves = int(n) }},
		{"max-bytes", y.Bytes, catalog.ParseSize, func(n int64) { l.Bytes = n }},
		{"for", y.For, span, func(n int64) { l.MaxDuration = time.Duration(n) }},
		{"parallel", y.Parallel, whole, func(n int64) { l.Parallel = int(n) }},
	} {
		if one.text == "" {
			continue
		}
		n, err := one.read(one.text)
		if err != nil || n <= 0 {
			return l, fmt.Errorf("%s.%s: %q is not a limit above 0", of, one.name, one.text)
		}
		one.set(n)
	}
	if y.Disk != "" {
		if l.DiskShare, err = pace.ParseShare(y.Disk); err != nil {
			return l, fmt.Errorf("%s.disk-limit: %w", of, err)
		}
	}
	return l, nil
}
