package router_test

import (
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// match compares a value with what is wanted: the same type, the same value,
// fields in the same order. In what is wanted
//   - the text "…" is any text, a field "…" any further fields before the next, and
//     a last element "…" of an array any further elements;
//   - {$any: "date"} is any value of that type, {$any: "value"} any at all;
//   - {$as: "x"} names the value, and where it comes again it must be equal;
//   - {$not: "x"} is any value of the same type but the one named so.
func (st *specTester) match(path string, want, got bson.RawValue) error {
	if text, isText := want.StringValueOK(); isText && text == "…" && got.Type == bson.TypeString {
		return nil
	}
	if rule, arg, isRule := matchRule(want); isRule {
		return st.matchRule(path, rule, arg, got)
	}
	if want.Type != got.Type {
		return fmt.Errorf("%s is %s of type %s, want %s of type %s", path, got, got.Type, want, want.Type)
	}
	switch want.Type {
	case bson.TypeEmbeddedDocument:
		return st.matchFields(path, want.Document(), got.Document())
	case bson.TypeArray:
		return st.matchElements(path, bson.Raw(want.Array()), bson.Raw(got.Array()))
	}
	if !want.Equal(got) {
		return fmt.Errorf("%s is %s, want %s", path, got, want)
	}
	return nil
}

func matchRule(want bson.RawValue) (rule, arg string, ok bool) {
	doc, isDoc := want.DocumentOK()
	if !isDoc {
		return "", "", false
	}
	for _, rule := range []string{"$any", "$as", "$not"} {
		if arg, isText := doc.Lookup(rule).StringValueOK(); isText {
			return rule, arg, true
		}
	}
	return "", "", false
}

func (st *specTester) matchRule(path, rule, arg string, got bson.RawValue) error {
	named, known := st.bound[arg]
	switch {
	case rule == "$any" && arg != "value" && typeNames[got.Type] != arg:
		return fmt.Errorf("%s is %s of type %s, want a %s", path, got, got.Type, arg)
	case rule == "$as" && known && !named.Equal(got):
		return fmt.Errorf("%s is %s, want %s, which is %s", path, got, arg, named)
	case rule == "$as":
		st.bound[arg] = got
	case rule == "$not" && (named.Type != got.Type || named.Equal(got)):
		return fmt.Errorf("%s is %s, want another %s than %s", path, got, named.Type, arg)
	}
	return nil
}

var typeNames = map[bson.Type]string{
	bson.TypeString: "string", bson.TypeTimestamp: "timestamp", bson.TypeObjectID: "objectId", bson.TypeDateTime: "date", bson.TypeInt32: "int",
	bson.TypeInt64: "long", bson.TypeDouble: "double", bson.TypeBinary: "binData", bson.TypeBoolean: "bool", bson.TypeEmbeddedDocument: "object",
	bson.TypeArray: "array",
}

func (st *specTester) matchFields(path string, want, got bson.Raw) error {
	wanted, err := want.Elements()
	if err != nil {
		return err
	}
	there, err := got.Elements()
	if err != nil {
		return err
	}
	for i := range wanted {
		if wanted[i].Key() == "…" {
			if i == len(wanted)-1 {
				return nil
			}
			there = there[max(0, slices.IndexFunc(there, func(e bson.RawElement) bool { return e.Key() == wanted[i+1].Key() })):]
			continue
		}
		if len(there) == 0 || there[0].Key() != wanted[i].Key() {
			return fmt.Errorf("%s has %v where %s should be", path, keysOf(there), wanted[i].Key())
		}
		if err := st.match(path+"."+wanted[i].Key(), wanted[i].Value(), there[0].Value()); err != nil {
			return err
		}
		there = there[1:]
	}
	if len(there) > 0 {
		return fmt.Errorf("%s has more: %v", path, keysOf(there))
	}
	return nil
}

func keysOf(elems []bson.RawElement) (keys []string) {
	for _, e := range elems {
		keys = append(keys, e.Key())
	}
	return keys
}

func (st *specTester) matchElements(path string, want, got bson.Raw) error {
	wanted, err := want.Values()
	if err != nil {
		return err
	}
	there, err := got.Values()
	if err != nil {
		return err
	}
	if n := len(wanted); n > 0 {
		if text, isText := wanted[n-1].StringValueOK(); isText && text == "…" {
			wanted = wanted[:n-1]
			there = there[:min(len(there), n-1)]
		}
	}
	if len(wanted) != len(there) {
		return fmt.Errorf("%s has %d elements, want %d", path, len(there), len(wanted))
	}
	for i := range wanted {
		if err := st.match(fmt.Sprintf("%s[%d]", path, i), wanted[i], there[i]); err != nil {
			return err
		}
	}
	return nil
}

// substitute puts the values that a case has named where a command says
// {$as: "x"}.
func (st *specTester) substitute(doc bson.Raw) bson.D {
	st.T.Helper()
	elems, err := doc.Elements()
	if err != nil {
		st.T.Fatal(err)
	}
	filled := bson.D{}
	for _, e := range elems {
		var value any = e.Value()
		if rule, name, isRule := matchRule(e.Value()); isRule && rule == "$as" {
			value = st.bound[name]
		} else if inner, isDoc := e.Value().DocumentOK(); isDoc {
			value = st.substitute(inner)
		}
		filled = append(filled, bson.E{Key: e.Key(), Value: value})
	}
	return filled
}

func withoutGossip(t *testing.T, reply bson.Raw) bson.Raw {
	t.Helper()
	var fields bson.D
	if err := bson.Unmarshal(reply, &fields); err != nil {
		t.Fatal(err)
	}
	for len(fields) > 0 && (fields[len(fields)-1].Key == "operationTime" || fields[len(fields)-1].Key == "$clusterTime") {
		fields = fields[:len(fields)-1]
	}
	return raw(t, fields)
}

func raw(t *testing.T, doc bson.D) bson.Raw {
	t.Helper()
	data, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func document(doc bson.Raw) bson.RawValue {
	return bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: doc}
}
