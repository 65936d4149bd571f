package yamlmap

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// A mistake names its line, and what was probably meant.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"name: x":               "",
		"name: x\n---\nname: y": "2: a thing is one document",
		"name: x\n---\na: [x":   "2: did not find expected ',' or ']'",
		"- 1":                   "1: expected names with values",
		"nam: x":                `1: unknown name "nam"; did you mean name?`,
		"name: x\nname: y":      `2: "name" is given twice`,
		"a: &a x\nname: *a":     "2: aliases are not supported",
		"name: [x]":             "1: expected a string",
		"name: 'x":              "1: found unexpected end of stream",
		"deep:\n  name: [x]":    "2: expected a string",
	} {
		var value string
		deep := Fields{"name": StringField(&value)}
		all := Fields{"name": StringField(&value), "a": func(*yaml.Node) error { return nil }, "deep": deep.Load}
		n, err := Document("a thing", []byte(text))
		if err == nil {
			err = all.Load(n)
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
