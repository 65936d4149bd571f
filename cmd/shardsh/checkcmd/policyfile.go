package checkcmd

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"shardsh/balancer/check"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/yamlmap"
)

// LoadPolicy parses a policy in YAML. Errors begin with the line.
func LoadPolicy(p *check.Policy, data []byte) error {
	n, err := yamlmap.Document("a policy", data)
	if err != nil {
		return err
	}
	return policyFields(p).Load(n)
}

func policyFields(p *check.Policy) yamlmap.Fields {
	return yamlmap.Fields{
		"rules":   ruleFields(p),
		"ns":      func(n *yaml.Node) (err error) { p.Namespaces.Include, err = yamlmap.StringList(n); return err },
		"exclude": func(n *yaml.Node) (err error) { p.Namespaces.Exclude, err = yamlmap.StringList(n); return err },
		"allow": func(n *yaml.Node) error {
			list, err := yamlmap.StringList(n)
			if err != nil {
				return err
			}
			return withSuggestion(p.SetAllow(list))
		},
		"fail-on": func(n *yaml.Node) (err error) {
			p.FailOn, err = check.ParseSeverity(n.Value)
			return withSuggestion(err)
		},
		"since": func(n *yaml.Node) (err error) {
			p.MaxFailureAge, err = cmdline.ParseDuration(n.Value)
			return err
		},
		"allow-missing": func(n *yaml.Node) error {
			on, err := yamlmap.ParseSwitch(n)
			if on {
				p.SetAllowMissing()
			}
			return err
		},
		"require-collections": func(n *yaml.Node) error {
			on, err := yamlmap.ParseSwitch(n)
			if on {
				p.RequireCollections()
			}
			return err
		},
	}
}

// ruleFields returns the fields for the rules: on, off, a threshold, or {max, severity}.
func ruleFields(p *check.Policy) func(*yaml.Node) error {
	rules := yamlmap.Fields{}
	for i := range p.Choices {
		c := &p.Choices[i]
		of := yamlmap.Fields{
			"max":      func(n *yaml.Node) error { return withSuggestion(c.SetMax(n.Value)) },
			"severity": func(n *yaml.Node) error { return withSuggestion(setSeverity(c, n.Value)) },
		}
		rules[c.Name] = func(n *yaml.Node) error {
			if n.Kind == yaml.MappingNode {
				c.On, c.ExplicitlyNamed = true, true
				return of.Load(n)
			}
			on, err := yamlmap.ParseSwitch(n)
			if err != nil {
				return fmt.Errorf("the rule %s takes on, off, or {max: …, severity: …}, not %q", c.Name, n.Value)
			}
			c.On, c.ExplicitlyNamed = on, on
			return nil
		}
	}
	return rules.Load
}
