package checkcmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"shardsh/balancer/check"
	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
)

// LoadPolicy reads a policy in YAML. Errors begin with the line.
func LoadPolicy(p *check.Policy, data []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return errors.New("1: the file is empty")
	case err != nil:
		return yamlError(err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%d: a policy is one document", more.Line)
	}
	return policyFields(p).load(doc.Content[0])
}

// yamlError takes the library's name off its errors, which name the line unless it
// is the first.
func yamlError(err error) error {
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), "\n")
	if line, named := strings.CutPrefix(text, "line "); named {
		return errors.New(line)
	}
	return errors.New("1: " + text)
}

// fields are what a mapping may have, and what each does.
type fields map[string]func(*yaml.Node) error

func policyFields(p *check.Policy) fields {
	return fields{
		"rules":   rulesOf(p),
		"ns":      func(n *yaml.Node) (err error) { p.Namespaces.Only, err = yamlWords(n); return err },
		"exclude": func(n *yaml.Node) (err error) { p.Namespaces.Except, err = yamlWords(n); return err },
		"allow": func(n *yaml.Node) error {
			list, err := yamlWords(n)
			if err != nil {
				return err
			}
			return p.SetAllow(list)
		},
		"fail-on": func(n *yaml.Node) (err error) { p.FailOn, err = check.ParseSeverity(n.Value); return err },
		"since": func(n *yaml.Node) error {
			var d cmdline.Duration
			err := d.Set(n.Value)
			p.Span = time.Duration(d)
			return err
		},
		"allow-missing": func(n *yaml.Node) error {
			on, err := yamlSwitch(n)
			if on {
				p.LetMiss()
			}
			return err
		},
		"require-collections": func(n *yaml.Node) error {
			on, err := yamlSwitch(n)
			if on {
				p.RequireCollections()
			}
			return err
		},
	}
}

// rulesOf takes for each rule on, off, a threshold, or {max, severity}.
func rulesOf(p *check.Policy) func(*yaml.Node) error {
	rules := fields{}
	for i := range p.Choices {
		c := &p.Choices[i]
		of := fields{
			"max":      func(n *yaml.Node) error { return c.SetMax(n.Value) },
			"severity": func(n *yaml.Node) error { return setSeverity(c, n.Value) },
		}
		rules[c.Name] = func(n *yaml.Node) error {
			if n.Kind == yaml.MappingNode {
				c.On, c.Named = true, true
				return of.load(n)
			}
			on, err := yamlSwitch(n)
			if err != nil {
				return fmt.Errorf("the rule %s takes on, off, or {max: …, severity: …}, not %q", c.Name, n.Value)
			}
			c.On, c.Named = on, on
			return nil
		}
	}
	return rules.load
}

// load reads a mapping. What it may not have is an error with the line.
func (f fields) load(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return lineAt(n.Line, "expected names with values")
	}
	var known []string
	for name := range f {
		known = append(known, name)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		set := f[name.Value]
		switch {
		case set == nil:
			return lineAt(name.Line, "unknown name %q%s", name.Value, plaintext.DidYouMean(name.Value, known))
		case seen[name.Value]:
			return lineAt(name.Line, "%q is given twice", name.Value)
		case value.Kind == yaml.AliasNode:
			return lineAt(value.Line, "aliases are not supported")
		}
		seen[name.Value] = true
		if err := set(value); err != nil {
			return atLine(value.Line, err)
		}
	}
	return nil
}

// lineError is an error that names its line already.
type lineError struct{ error }

func (e lineError) Unwrap() error { return e.error }

func lineAt(line int, format string, args ...any) error {
	return atLine(line, fmt.Errorf(format, args...))
}

func atLine(line int, err error) error {
	if errors.As(err, new(lineError)) {
		return err
	}
	return lineError{fmt.Errorf("%d: %w", line, meant(err))}
}

// yamlWords reads a list of texts, or one alone.
func yamlWords(n *yaml.Node) ([]string, error) {
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

// yamlSwitch reads on or off, which YAML 1.2 does not take for truth values.
func yamlSwitch(n *yaml.Node) (bool, error) {
	switch strings.ToLower(n.Value) {
	case "on", "true", "yes":
		return true, nil
	case "off", "false", "no":
		return false, nil
	}
	return false, fmt.Errorf("expected on or off, not %q", n.Value)
}
