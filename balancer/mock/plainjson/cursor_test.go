package plainjson

import (
	"encoding/json"
	"reflect"
	"testing"
)

// read makes of a text what encoding/json makes of it, by the cursor.
func read(text []byte) (made map[string]any, ok bool) {
	c := NewCursor(text)
	made = map[string]any{}
	c.Members(func(name string) {
		switch name {
		case "text":
			made[name] = string(c.Text())
		case "number":
			made[name] = float64(c.Number())
		case "bool":
			made[name] = c.Bool()
		case "list":
			list := []any{}
			c.Items(func() { list = append(list, decoded(c.Value())) })
			made[name] = list
		default:
			made[name] = decoded(c.Value())
		}
	})
	return made, !c.Spoilt() && c.AtEnd()
}

func decoded(raw json.RawMessage) (value any) {
	if json.Unmarshal(raw, &value) != nil {
		return "no JSON: " + string(raw)
	}
	return value
}

var texts = []string{
	`{}`, ` { "text" : "a b" } `, `{"number": -12, "bool": true, "list": [1, "x", {"k": 2}, [], null]}`,
	`{"any": {"k": {"$numberLong": "5"}}, "more": [{"a": "]}"}, "\\\""]}`, `{"any": 1.5e3, "other": false}`,
	`{"any": {"k": 007}}`, `{"number": 1.5}`, `{"number": 01}`, `{"text": "\n"}`, `{"text": "é"}`, `{"any": -}`,
	`{"any": {"k": 1}`, `{"any": tru}`, `{"any": 1}}`, `{"any": [1}`, `{"any" 1}`, `{"any": 1,}`, `{"list": [1,]}`,
	`{"any": 1, "any": 2}`, `{"any": {"k": 1}, "bool": false`, ``, `[`, `{"`, `{"any": "`, `{"any": "\`, `{"any": }`,
}

// What the cursor accepts, encoding/json does, with the same result.
func agrees(t *testing.T, text []byte) (accepted bool) {
	t.Helper()
	made, ok := read(text)
	if !ok {
		return false
	}
	var want map[string]any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatalf("%q: accepted, but it is no JSON: %v", text, err)
	}
	if !reflect.DeepEqual(made, want) {
		t.Fatalf("%q: %v, want %v", text, made, want)
	}
	return true
}

func TestCursor(t *testing.T) {
	for i, text := range texts {
		const plain = 5
		if accepted := agrees(t, []byte(text)); accepted != (i < plain) {
			t.Errorf("%q: accepted %v", text, accepted)
		}
	}
}

func FuzzCursor(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { agrees(t, text) })
}
