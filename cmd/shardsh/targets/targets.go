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
	// URI says where a live cluster is. There is no password in it, and there may be a user.
	URI string
	// Username and PasswordFile are whom to log in as; empty for none.
	Username, PasswordFile string
	// From is a file of metadata in place of a cluster, and Mock what --mock takes. One of
	// URI, From and Mock is there.
	From, Mock string
	Labels     map[string]string
}

// Server returns how to reach a cluster that has an address: as the options of the command
// line say, which hold for all clusters, unless the file says otherwise.
func (t Target) Server(options target.Server) target.Server {
	options.Address = t.URI
	if t.Username != "" {
		options.Username = t.Username
	}
	if t.PasswordFile != "" {
		options.PasswordFile = t.PasswordFile
	}
	return options
}

// Location returns where a cluster is, as it may be shown.
func (t Target) Location() string {
	switch {
	case t.From != "":
		return t.From
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

// ReadText is Read, and also returns the text of the file, for callers that reload it when
// it has changed. The text is also returned with an error.
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

// Parse reads targets in YAML, in the order of the file. Paths in it start from dir. Errors
// begin with the line.
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

// parser is one while it is read.
type parser struct {
	dir      string
	defaults Target
	clusters *yaml.Node
	list     []Target
	lines    map[string]int // of each name
}

// fields are what all clusters may have.
func (f *parser) fields(t *Target) yamlmap.Fields {
	return yamlmap.Fields{
		"username":     yamlmap.StringField(&t.Username),
		"password":     func(*yaml.Node) error { return errPassword },
		"passwordFile": f.pathField(&t.PasswordFile),
		"labels":       func(n *yaml.Node) (err error) { t.Labels, err = labels(n); return err },
	}
}

// add reads one cluster.
func (f *parser) add(n *yaml.Node) error {
	t := f.defaults
	t.Labels = maps.Clone(t.Labels)
	fields := f.fields(&t)
	ofDefaults := fields["labels"]
	fields["labels"] = func(n *yaml.Node) error {
		before := t.Labels
		err := ofDefaults(n)
		for name, value := range before {
			if _, own := t.Labels[name]; !own && err == nil {
				t.Labels[name] = value
			}
		}
		return err
	}
	fields["name"] = nameField(&t.Name)
	fields["uri"] = func(n *yaml.Node) error { t.URI = n.Value; return checkURI(n) }
	fields["from"] = f.pathField(&t.From)
	fields["mock"] = func(n *yaml.Node) error {
		if n.Kind == yaml.ScalarNode && strings.Trim(n.Value, "0123456789") == "" {
			return yamlmap.StringField(&t.Mock)(n)
		}
		return f.pathField(&t.Mock)(n)
	}
	if err := fields.Load(n); err != nil {
		return err
	}
	if err := t.validate(); err != nil {
		return yamlmap.WithLine(n.Line, err)
	}
	if line, twice := f.lines[t.Name]; twice {
		return yamlmap.WithLine(n.Line, fmt.Errorf("there is a cluster %q already, in line %d", t.Name, line))
	}
	f.lines[t.Name] = n.Line
	f.list = append(f.list, t)
	return nil
}

// validate returns an error for conflicting fields.
func (t *Target) validate() error {
	ways := 0
	for _, way := range []string{t.URI, t.From, t.Mock} {
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

// pathField reads one, which starts from where the file is.
func (f *parser) pathField(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := yamlmap.StringField(to)(n); err != nil || filepath.IsAbs(*to) {
			return err
		}
		*to = filepath.Join(f.dir, *to)
		return nil
	}
}

var errPassword = errors.New("a password does not belong in this file: put it in a file that only you may read, " +
	"and name that with passwordFile")

// checkURI refuses what is not a connection string, and one with a password in it. It repeats
// nothing of it.
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

// nameField reads that of a cluster. It may be part of the name of a file, and the value of a
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

// reservedLabels are names of labels that metrics of a cluster have anyway.
var reservedLabels = []string{"name", "cluster"}

func labels(n *yaml.Node) (map[string]string, error) {
	list := map[string]string{}
	return list, yamlmap.EachField(n, func(name, value *yaml.Node) error {
		switch {
		case slices.Contains(reservedLabels, name.Value):
			return fmt.Errorf("a label can't be called %s", name.Value)
		case !validLabel.MatchString(name.Value):
			return fmt.Errorf("a label is called by letters, digits and underscores, not %q", name.Value)
		case value.Kind != yaml.ScalarNode || strings.ContainsFunc(value.Value, func(r rune) bool { return r < ' ' }):
			return fmt.Errorf("label %s: expected a string", name.Value)
		}
		list[name.Value] = value.Value
		return nil
	})
}

// Find returns the cluster of a name, and whether there is one.
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

// LabelPairs returns the labels, names and values in turn, by name.
func (t Target) LabelPairs() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(t.Labels)) {
		list = append(list, name, t.Labels[name])
	}
	return list
}

// Identity is a comparison key: it differs if the connection settings or labels differ.
func (t Target) Identity() string {
	text := []string{t.URI, t.Username, t.PasswordFile, t.From, t.Mock}
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
