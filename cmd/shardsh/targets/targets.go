package targets

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"shardsh/balancer/safefile"
	"shardsh/cmd/shardsh/target"
	"shardsh/cmd/shardsh/yamlmap"
)

// Target is one cluster of a fleet.
type Target struct {
	Name string
	// URI is the address of a live cluster. It never contains a password, but may contain a user.
	URI string
	// Username and PasswordFile are the credentials; empty for none.
	Username, PasswordFile string
	// MetadataFile is a file of metadata that is used in place of a cluster. Mock is a value for --mock.
	// Exactly one of URI, From and Mock is set.
	MetadataFile, Mock string
	Labels             map[string]string
}

// ConnectionFlags returns the connection options of a cluster with an address: those of the command line, which
// apply to all clusters, unless the file overrides them.
func (t Target) ConnectionFlags(options target.ConnectionFlags) target.ConnectionFlags {
	options.Address = t.URI
	if t.Username != "" {
		options.Username = t.Username
	}
	if t.PasswordFile != "" {
		options.PasswordFile = t.PasswordFile
	}
	return options
}

// Location returns the address of a cluster without credentials.
func (t Target) Location() string {
	switch {
	case t.MetadataFile != "":
		return t.MetadataFile
	case t.Mock != "":
		return "mock " + t.Mock
	}
	c, err := target.Parse(t.URI)
	if err != nil {
		return t.Name
	}
	return c.Location()
}

const (
	maxBytes    = 8 << 20
	readTimeout = 30 * time.Second
)

// Read reads a file of targets. Errors begin with the path and the line.
func Read(path string) ([]Target, error) {
	list, _, err := ReadText(path)
	return list, err
}

// ReadText works like Read, and also returns the text of the file, for callers that reload it when it
// has changed. The text is also returned with an error.
func ReadText(path string) ([]Target, []byte, error) {
	data, err := safefile.Read(path, maxBytes, readTimeout)
	if err != nil {
		return nil, []byte(err.Error()), err
	}
	list, err := Parse(data, filepath.Dir(path))
	if err != nil {
		return nil, data, fmt.Errorf("%s:%w", path, err)
	}
	return list, data, nil
}

// Parse parses targets in YAML, in the order of the file. Relative paths in it are relative to dir.
// Errors begin with the line.
func Parse(data []byte, dir string) ([]Target, error) {
	doc, err := yamlmap.Document("a file of targets", data)
	if err != nil {
		return nil, err
	}
	f := parser{dir: dir, lines: map[string]int{}}
	fields := yamlmap.Fields{
		"defaults": f.fields(&f.defaults).Load,
		"clusters": func(n *yaml.Node) error { f.clusters = n; return nil },
	}
	if err := fields.Load(doc); err != nil {
		return nil, err
	}
	if f.clusters == nil || f.clusters.Kind != yaml.SequenceNode || len(f.clusters.Content) == 0 {
		return nil, yamlmap.WithLine(doc.Line, errors.New("clusters: expected a list of clusters"))
	}
	for _, n := range f.clusters.Content {
		if err := f.add(n); err != nil {
			return nil, err
		}
	}
	return f.list, nil
}

// parser is the state of parsing a file.
type parser struct {
	dir      string
	defaults Target
	clusters *yaml.Node
	list     []Target
	lines    map[string]int // line of each name
}

// fields returns the fields that all clusters may have.
func (p *parser) fields(t *Target) yamlmap.Fields {
	return yamlmap.Fields{
		"username":     yamlmap.StringField(&t.Username),
		"password":     func(*yaml.Node) error { return errPassword },
		"passwordFile": p.pathField(&t.PasswordFile),
		"labels":       func(n *yaml.Node) (err error) { t.Labels, err = labels(n); return err },
	}
}

// add reads one cluster.
func (p *parser) add(n *yaml.Node) error {
	t := p.defaults
	t.Labels = maps.Clone(t.Labels)
	fields := p.fields(&t)
	ofDefaults := fields["labels"]
	fields["labels"] = func(n *yaml.Node) error {
		before := t.Labels
		err := ofDefaults(n)
		for name, value := range before {
			if _, ok := t.Labels[name]; !ok && err == nil {
				t.Labels[name] = value
			}
		}
		return err
	}
	fields["name"] = nameField(&t.Name)
	fields["uri"] = func(n *yaml.Node) error { t.URI = n.Value; return checkURI(n) }
	fields["from"] = p.pathField(&t.MetadataFile)
	fields["mock"] = func(n *yaml.Node) error {
		if n.Kind == yaml.ScalarNode && strings.Trim(n.Value, "0123456789") == "" {
			return yamlmap.StringField(&t.Mock)(n)
		}
		return p.pathField(&t.Mock)(n)
	}
	if err := fields.Load(n); err != nil {
		return err
	}
	if err := t.validate(); err != nil {
		return yamlmap.WithLine(n.Line, err)
	}
	if line, twice := p.lines[t.Name]; twice {
		return yamlmap.WithLine(n.Line, fmt.Errorf("there is a cluster %q already, in line %d", t.Name, line))
	}
	p.lines[t.Name] = n.Line
	p.list = append(p.list, t)
	return nil
}

// validate returns an error for conflicting fields.
func (t *Target) validate() error {
	ways := 0
	for _, way := range []string{t.URI, t.MetadataFile, t.Mock} {
		if way != "" {
			ways++
		}
	}
	switch {
	case t.Name == "":
		return errors.New("the cluster has no name")
	case ways != 1:
		return fmt.Errorf("%s: exactly one of uri, from and mock says where it is", t.Name)
	case t.URI == "":
		t.Username, t.PasswordFile = "", ""
	case t.PasswordFile != "" && t.Username == "" && !strings.Contains(t.URI, "@"):
		return fmt.Errorf("%s: passwordFile needs username", t.Name)
	}
	return nil
}

// pathField parses a path, which is relative to the directory of the file.
func (p *parser) pathField(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := yamlmap.StringField(to)(n); err != nil || filepath.IsAbs(*to) {
			return err
		}
		*to = filepath.Join(p.dir, *to)
		return nil
	}
}

var errPassword = errors.New("a password does not belong in this file: put it in a file that only you may read, " +
	"and name that with passwordFile")

// checkURI returns an error for an invalid connection string, and for one with a password. The error
// repeats no part of it.
func checkURI(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode || !target.IsURI(n.Value) {
		return errors.New("uri: expected one that begins with mongodb:// or mongodb+srv://")
	}
	c, err := target.Parse(n.Value)
	if err != nil {
		return fmt.Errorf("uri: %w", err)
	}
	if c.Password().Given {
		return fmt.Errorf("uri: %w", errPassword)
	}
	if held := c.SecretParameter(); held != "" {
		return fmt.Errorf("uri: %s does not belong in this file: give it on the command line or in the environment", held)
	}
	return nil
}

var (
	validName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	validLabel = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,99}$`)
)

// nameField parses the name of a cluster, which may become part of a file name, and the value of a
// label of metrics.
func nameField(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || !validName.MatchString(n.Value) {
			return errors.New("name: expected letters, digits, dots, dashes and underscores, at most 100")
		}
		*to = n.Value
		return nil
	}
}

// reservedLabels are names of labels that the metrics of a cluster always have.
var reservedLabels = []string{"name", "cluster"}

func labels(n *yaml.Node) (map[string]string, error) {
	list := map[string]string{}
	return list, yamlmap.EachField(n, func(name, value *yaml.Node) error {
		switch {
		case slices.Contains(reservedLabels, name.Value):
			return fmt.Errorf("a label can't be called %s", name.Value)
		case !validLabel.MatchString(name.Value):
			return fmt.Errorf("the name of a label is a letter, then letters, digits and underscores, not %q", name.Value)
		case value.Kind != yaml.ScalarNode || strings.ContainsFunc(value.Value, func(r rune) bool { return r < ' ' }):
			return fmt.Errorf("label %s: expected a string", name.Value)
		}
		list[name.Value] = value.Value
		return nil
	})
}

// Find returns the cluster with a name, and reports whether there is one.
func Find(list []Target, name string) (Target, bool) {
	i := slices.IndexFunc(list, func(t Target) bool { return t.Name == name })
	if i < 0 {
		return Target{}, false
	}
	return list[i], true
}

// Names returns the names of clusters.
func Names(list []Target) (names []string) {
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names
}

// LabelPairs returns alternating names and values of the labels, sorted by name.
func (t Target) LabelPairs() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(t.Labels)) {
		list = append(list, name, t.Labels[name])
	}
	return list
}

// Identity returns a comparison key: it differs if the connection settings or labels differ.
func (t Target) Identity() string {
	text := []string{t.URI, t.Username, t.PasswordFile, t.MetadataFile, t.Mock}
	return strings.Join(append(text, t.LabelPairs()...), "\x00")
}

// LabelText returns the labels of a cluster in one line.
func (t Target) LabelText() string {
	var words []string
	for name, value := range t.Labels {
		words = append(words, name+"="+value)
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}
