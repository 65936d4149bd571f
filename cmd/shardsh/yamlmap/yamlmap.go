package yamlmap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"shardsh/bindings/plaintext"
)

// Document returns the only document in a file; what is the name of the file in errors.
func Document(what string, data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("1: the file is empty")
	case err != nil:
		return nil, yamlError(err)
	}
	switch err := decoder.Decode(&more); {
	case errors.Is(err, io.EOF):
		return doc.Content[0], nil
	case err != nil:
		return nil, yamlError(err)
	}
	return nil, fmt.Errorf("%d: %s is one document", more.Line, what)
}

// yamlError removes the library's name from its errors. They name the line unless it is the first one.
func yamlError(err error) error {
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "\n")
	if line, named := strings.CutPrefix(text, "line "); named {
		return errors.New(line)
	}
	return errors.New("1: " + text)
}

// Fields maps the allowed names of a mapping to their setters.
type Fields map[string]func(*yaml.Node) error

// Load reads a mapping. An unknown name is an error with the line.
func (f Fields) Load(n *yaml.Node) error {
	var known []string
	for name := range f {
		known = append(known, name)
	}
	return EachField(n, func(name, value *yaml.Node) error {
		set := f[name.Value]
		if set == nil {
			return WithLine(name.Line, fmt.Errorf("unknown name %q%s", name.Value, plaintext.DidYouMean(name.Value, known)))
		}
		return set(value)
	})
}

// EachField calls do with the names and values of a mapping.
func EachField(n *yaml.Node, do func(name, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return WithLine(n.Line, errors.New("expected names with values"))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		switch {
		case seen[name.Value]:
			return WithLine(name.Line, fmt.Errorf("%q is given twice", name.Value))
		case value.Kind == yaml.AliasNode:
			return WithLine(value.Line, errors.New("aliases are not supported"))
		}
		seen[name.Value] = true
		if err := do(name, value); err != nil {
			return WithLine(value.Line, err)
		}
	}
	return nil
}

// lineError is an error that already names its line.
type lineError struct{ error }

func (e lineError) Unwrap() error { return e.error }

// WithLine adds the line to an error that does not name a line.
func WithLine(line int, err error) error {
	if errors.As(err, new(lineError)) {
		return err
	}
	return lineError{fmt.Errorf("%d: %w", line, err)}
}

// StringList returns the strings of a list, or a single string.
func StringList(n *yaml.Node) ([]string, error) {
	items := n.Content
	if n.Kind == yaml.ScalarNode {
		items = []*yaml.Node{n}
	}
	var list []string
	for _, item := range items {
		if n.Kind == yaml.MappingNode || item.Kind != yaml.ScalarNode || item.Value == "" {
			return nil, errors.New("expected a string or a list of strings")
		}
		list = append(list, item.Value)
	}
	return list, nil
}

// StringField returns a setter for a single string.
func StringField(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode || n.Value == "" {
			return errors.New("expected a string")
		}
		*to = n.Value
		return nil
	}
}

// ParseSwitch parses on or off, which are not booleans in YAML 1.2.
func ParseSwitch(n *yaml.Node) (bool, error) {
	switch strings.ToLower(n.Value) {
	case "on", "true", "yes":
		return true, nil
	case "off", "false", "no":
		return false, nil
	}
	return false, fmt.Errorf("expected on or off, not %q", n.Value)
}
