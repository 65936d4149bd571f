package recorded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
)

// Step is one entry of a recording.
type Step struct {
	Name    string `json:"step"`
	Compare string `json:"compare"` // exact, shape, or info for no comparison
	Reply   any    `json:"reply"`
	Error   any    `json:"error"`
}

// parse finds the recording in the output of a script: the last array.
func parse(t testing.TB, data []byte) (steps []Step) {
	t.Helper()
	from, to := bytes.LastIndex(data, []byte("\n[\n"))+1, bytes.LastIndexByte(data, ']')
	if to < from {
		t.Fatalf("no recording in %q", data)
	}
	if err := json.Unmarshal(data[from:to+1], &steps); err != nil {
		t.Fatal(err)
	}
	return steps
}

func (s Step) matches(got Step) bool {
	if (s.Error == nil) != (got.Error == nil) {
		return false
	}
	w, g := s.Reply, got.Reply
	if s.Error != nil {
		w, g = s.Error, got.Error
	}
	if s.Compare == "shape" {
		w, g = shape(w), shape(g)
	}
	return reflect.DeepEqual(w, g)
}

// shape returns the value with only its keys and types.
func shape(v any) any {
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			return []any{}
		}
		return []any{shape(v[0])}
	case map[string]any:
		shapes := map[string]any{}
		for k, x := range v {
			shapes[k] = shape(x)
		}
		return shapes
	}
	return fmt.Sprintf("%T", v)
}

func (s Step) brief() string {
	text, err := json.Marshal(map[string]any{"reply": s.Reply, "error": s.Error})
	if err != nil {
		return err.Error()
	}
	return string(text[:min(len(text), 1500)])
}
