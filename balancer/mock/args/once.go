package args

import (
	"bytes"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// CheckOnce refuses a key that stands twice wherever keys are options: in the
// command, in the documents it takes, in the command it explains, and in the
// stages of its pipelines. What reads the first of two and what reads the last
// would else see two commands. Documents, filters, expressions and patterns are
// not looked into: there a key may come twice.
func CheckOnce(body bson.Raw) error {
	elems, err := body.Elements()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	if len(elems) == 0 {
		return nil
	}
	if name, twice := doubled(elems); twice {
		return mongoerr.New(mongoerr.FailedToParse, "Parsed command object contains duplicate top level key: %s", name)
	}
	return checkFields(elems[0].Key(), elems, commandFields)
}

// look says how a value is looked at.
type look uint8

const (
	options  look = iota // a document of options, or an array of such
	opaque               // not at all
	pipeline             // as an array of stages
	updating             // a pipeline, or a document that is not looked at
	patterns             // options, or a pattern of keys that is not looked at
)

// shape is how a value is looked at and, of options, how the fields in it are:
// those without an entry as the empty name says, or else as options themselves.
type shape struct {
	look   look
	fields map[string]shape
}

// checkOnce looks at one value; place is its name in messages.
func (s shape) checkOnce(place string, v bson.RawValue) error {
	switch s.look {
	case opaque:
		return nil
	case pipeline, updating:
		return checkStages(v)
	case patterns:
		doc, _ := v.DocumentOK()
		if doc.Lookup("keyPattern").IsZero() && doc.Lookup("name").IsZero() {
			return nil
		}
	}
	return checkOptions(place, v, s.fields)
}

// checkStages looks at the stages of a pipeline. What is none fails later.
func checkStages(v bson.RawValue) error {
	list, err := Documents(v)
	if err != nil {
		return nil //nolint:nilerr // the command says what is wrong
	}
	for _, stage := range list {
		elems, err := stage.Elements()
		if err != nil || len(elems) != 1 {
			continue
		}
		name := elems[0].Key()
		of, known := stageShapes[name]
		if !known {
			continue
		}
		if err := of.checkOnce(name, elems[0].Value()); err != nil {
			return err
		}
	}
	return nil
}

// checkOptions looks at a document, or at each of an array.
func checkOptions(place string, v bson.RawValue, fields map[string]shape) error {
	if array, isArray := v.ArrayOK(); isArray {
		values, err := array.Values()
		if err != nil {
			return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
		}
		for _, v := range values {
			if err := checkOptions(place, v, fields); err != nil {
				return err
			}
		}
		return nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return nil
	}
	elems, err := doc.Elements()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	if name, twice := doubled(elems); twice {
		return duplicate(place, name)
	}
	return checkFields(place, elems, fields)
}

func checkFields(place string, elems []bson.RawElement, fields map[string]shape) error {
	for _, e := range elems {
		v := e.Value()
		if v.Type != bson.TypeEmbeddedDocument && v.Type != bson.TypeArray {
			continue
		}
		of, known := fields[e.Key()]
		if !known {
			if of, known = fields[""]; !known {
				of = shape{fields: fields}
			}
		}
		if err := of.checkOnce(place+"."+e.Key(), v); err != nil {
			return err
		}
	}
	return nil
}

// duplicate returns the server's error for an option that is there twice.
func duplicate(place, name string) error {
	if stage, _, _ := strings.Cut(place, "."); readByHand[stage] {
		return mongoerr.New(mongoerr.FailedToParse, "duplicate argument to %s: %s", place, name)
	}
	return mongoerr.New(mongoerr.IDLDuplicateField, "BSON field '%s.%s' is a duplicate field", place, name)
}

// fewKeys are compared with each other, more than that go into a set.
const fewKeys = 16

// doubled returns a key that stands twice.
func doubled(elems []bson.RawElement) (name string, twice bool) {
	if len(elems) > fewKeys {
		seen := make(map[string]bool, len(elems))
		for _, e := range elems {
			if seen[e.Key()] {
				return e.Key(), true
			}
			seen[e.Key()] = true
		}
		return "", false
	}
	for i, e := range elems {
		for _, other := range elems[:i] {
			if bytes.Equal(keyOf(e), keyOf(other)) {
				return e.Key(), true
			}
		}
	}
	return "", false
}

// keyOf returns an element's key and the zero byte after it.
func keyOf(e bson.RawElement) []byte { return e[1 : 2+bytes.IndexByte(e[1:], 0)] }
